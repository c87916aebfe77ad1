// What was found out about the GPUs here, kept from one load to the next: which kernels each of them gets. The engine
// writes it as lines that only the engine understands, and does not trust them; all we do is keep the latest. Nothing of
// this may fail: who has no cache finds out again.

/** A place for a small text that says how this computer's GPUs are best used. */
export interface TuningCache {
    /** The browser or whatever else compiles the kernels: what was found out with another one says nothing. */
    readonly surroundings: string;
    /** Undefined when there is nothing. May throw. */
    read(): Promise<string | undefined>;
    /** May throw. */
    write(text: string): Promise<void>;
}

/** More than the engine would look at. */
export const mostText = 4096;
/** Computers have one or two GPUs, and their drivers get new names now and then. */
const mostLines = 4;

export async function recall(cache: TuningCache): Promise<string[]> {
    try {
        const [first, ...lines] = ((await cache.read()) ?? '').split('\n');
        return first === cache.surroundings ? lines.filter((line) => line !== '').slice(0, mostLines) : [];
    } catch {
        return [];
    }
}

export async function keep(cache: TuningCache, known: readonly string[], line: string): Promise<void> {
    if (known.includes(line)) return;
    try {
        await cache.write([cache.surroundings, line, ...known.slice(0, mostLines - 1)].join('\n'));
    } catch {
        // The next load takes as long as this one.
    }
}
