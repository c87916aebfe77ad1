export class Unzlib {
    constructor(onData: (piece: Uint8Array, last: boolean) => void);
    push(piece: Uint8Array, last?: boolean): void;
}
