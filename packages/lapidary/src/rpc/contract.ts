// What two sides of a border between threads, tabs or processes may ask of each other. Types only.

/** A side's methods: what each takes, tells meanwhile and gives. */
export type Contract<C> = { [M in keyof C]: { args: unknown; event: unknown; result: unknown } };

export interface Handling<Event> {
    /** Aborted when the caller wants no more, or is gone. */
    signal: AbortSignal;
    /** Never waits: what the other side has not taken yet is kept, joined where the method has a Merge. */
    emit(event: Event): void;
    /** Resolves when the other side has taken enough for more; for whoever has much to tell and can wait. */
    room(): Promise<void>;
}

export type Handlers<C extends Contract<C>> = {
    [M in keyof C]: (args: C[M]['args'], handling: Handling<C[M]['event']>) => Promise<C[M]['result'] | Moved<C[M]['result']>>;
};

/** For a reader that is behind: one event instead of two that follow each other, or undefined where both are needed. */
export type Merges<C extends Contract<C>> = {
    [M in keyof C]?: (before: C[M]['event'], after: C[M]['event']) => C[M]['event'] | undefined;
};

/** A result whose buffers move instead of being copied, where a port can do that. */
export class Moved<Value> {
    constructor(
        readonly value: Value,
        readonly transfer: ArrayBuffer[],
    ) {}
}
