// An answer as it is written: an async iterable of chunks. Leaving the loop stops the generation.
import { LapidaryError } from '../error.js';

/** May be iterated once. */
export interface Stream<Chunk> extends AsyncIterable<Chunk> {
    /** Stops the generation; the iteration ends with a LapidaryError `cancelled`. */
    abort(): void;
    /** Server-sent events and the like want this; cancelling it stops the generation. */
    toReadableStream(): ReadableStream<Chunk>;
}

export type Produce<Chunk> = (push: (chunk: Chunk) => void, signal: AbortSignal) => Promise<void>;

/** Starts `produce` at once; what it pushes waits until somebody reads. */
export function streamOf<Chunk>(produce: Produce<Chunk>, outer: AbortSignal | undefined): Stream<Chunk> {
    return new ChunkStream(produce, outer);
}

class ChunkStream<Chunk> implements Stream<Chunk>, AsyncIterator<Chunk, undefined> {
    private readonly stop = new AbortController();
    private readonly chunks: Chunk[] = [];
    private ended = false;
    private failure: { error: unknown } | undefined;
    private taken = false;
    /** Wakes the reader; there is something to read, or nothing will come any more. */
    private wake: () => void = () => undefined;

    constructor(produce: Produce<Chunk>, outer: AbortSignal | undefined) {
        const follow = () => this.stop.abort();
        outer?.addEventListener('abort', follow);
        if (outer?.aborted) follow();
        produce((chunk) => {
            this.chunks.push(chunk);
            this.wake();
        }, this.stop.signal)
            .catch((error: unknown) => {
                this.failure = { error };
            })
            .finally(() => {
                outer?.removeEventListener('abort', follow);
                this.ended = true;
                this.wake();
            });
    }

    abort(): void {
        this.stop.abort();
    }

    [Symbol.asyncIterator](): AsyncIterator<Chunk, undefined> {
        if (this.taken) throw new LapidaryError('invalid_argument', 'this stream is being read already');
        this.taken = true;
        return this;
    }

    async next(): Promise<IteratorResult<Chunk, undefined>> {
        while (this.chunks.length === 0 && !this.ended) {
            await new Promise<void>((resolve) => {
                this.wake = resolve;
            });
        }
        const value = this.chunks.shift();
        if (value !== undefined) return { done: false, value };
        const { failure } = this;
        this.failure = undefined; // told once; after that the stream is simply over
        if (failure) throw failure.error;
        return { done: true, value: undefined };
    }

    /** The reader left the loop. */
    async return(): Promise<IteratorResult<Chunk, undefined>> {
        this.stop.abort();
        this.chunks.length = 0;
        this.failure = undefined;
        return { done: true, value: undefined };
    }

    toReadableStream(): ReadableStream<Chunk> {
        const iterator = this[Symbol.asyncIterator]();
        return new ReadableStream<Chunk>({
            pull: async (controller) => {
                const { done, value } = await iterator.next();
                if (done) controller.close();
                else controller.enqueue(value);
            },
            cancel: async () => {
                await iterator.return?.();
            },
        });
    }
}
