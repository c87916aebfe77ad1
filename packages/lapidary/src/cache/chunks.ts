// A file in pieces of equal size, the last one shorter: what is on disk, checked and fetched is counted in these.

/** Small enough that little is lost or fetched again, large enough that 7 GB are a few thousand lines of journal. */
export const defaultChunkBytes = 1024 * 1024;

export interface Run {
    first: number;
    /** One past the last. */
    end: number;
}

export class Chunks {
    readonly count: number;

    constructor(
        readonly size: number,
        readonly chunkBytes: number,
    ) {
        this.count = Math.ceil(size / chunkBytes);
    }

    offset(index: number): number {
        return Math.min(index * this.chunkBytes, this.size);
    }

    length(index: number): number {
        return this.offset(index + 1) - this.offset(index);
    }

    /** The chunks that a range of bytes touches. */
    touched(offset: number, length: number): Run {
        if (length === 0) return { first: 0, end: 0 };
        return { first: Math.floor(offset / this.chunkBytes), end: Math.ceil((offset + length) / this.chunkBytes) };
    }

    /** Neighbours together, so that each run is one request. */
    runs(wanted: (index: number) => boolean): Run[] {
        const runs: Run[] = [];
        for (let index = 0; index < this.count; index++) {
            if (!wanted(index)) continue;
            const last = runs.at(-1);
            if (last?.end === index) last.end++;
            else runs.push({ first: index, end: index + 1 });
        }
        return runs;
    }

    bytesIn(runs: readonly Run[]): number {
        return runs.reduce((sum, run) => sum + this.offset(run.end) - this.offset(run.first), 0);
    }
}
