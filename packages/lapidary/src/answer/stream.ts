// An answer as it is written: an async iterable of chunks. Leaving the loop stops the generation.

/** May be iterated once. */
export interface Stream<Chunk> extends AsyncIterable<Chunk> {
    /** Stops the generation; the iteration ends with a LapidaryError `cancelled`. */
    abort(): void;
    /** Server-sent events and the like want this; cancelling it stops the generation. */
    toReadableStream(): ReadableStream<Chunk>;
}
