// A file that comes as one stream and is read in parts afterwards. It becomes a Blob, which browsers keep where they
// have room; what is in JavaScript's own memory stays small.

const foldBytes = 16 * 1024 * 1024;

export class Gathered {
    size = 0;
    private readonly folded: Blob[] = [];
    private loose: Uint8Array<ArrayBuffer>[] = [];
    private looseBytes = 0;

    add(piece: Uint8Array): void {
        this.loose.push(piece as Uint8Array<ArrayBuffer>); // fetch shares no memory between threads
        this.looseBytes += piece.length;
        this.size += piece.length;
        if (this.looseBytes >= foldBytes) this.fold();
    }

    blob(): Blob {
        this.fold();
        return new Blob(this.folded);
    }

    private fold(): void {
        if (this.loose.length === 0) return;
        this.folded.push(new Blob(this.loose));
        this.loose = [];
        this.looseBytes = 0;
    }
}
