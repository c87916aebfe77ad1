// Large models come in pieces named `<prefix>-00001-of-00003.gguf`. From the first name follow the others.
import { LapidaryError } from '../error.js';

const pattern = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/s;

// A name is untrusted input: without a bound it could make us open 99,999 files.
const mostShards = 1000;

/** The names of all pieces, in order; just the name itself when it is not that of a split model. */
export function shardNames(first: string): string[] {
    const match = pattern.exec(first);
    if (!match) return [first];
    const [, prefix = '', number = '', total = ''] = match;
    const count = Number(total);
    if (count === 0 || Number(number) > count) {
        throw new LapidaryError('invalid_argument', `'${first}' is not the name of a piece of a split model`);
    }
    if (count > mostShards) {
        throw new LapidaryError('limit', `'${first}' claims ${count} pieces; at most ${mostShards} are supported`);
    }
    if (Number(number) !== 1) {
        throw new LapidaryError(
            'invalid_argument',
            `'${first}' is piece ${Number(number)} of ${count}; open the first one, '${prefix}-00001-of-${total}.gguf'`,
        );
    }
    return Array.from({ length: count }, (_, i) => `${prefix}-${String(i + 1).padStart(5, '0')}-of-${total}.gguf`);
}

/** The same for URLs: only the path counts, a query (a signature, a revision) is kept. */
export function shardUrls(first: URL): URL[] {
    return shardNames(first.pathname).map((pathname) => {
        const url = new URL(first);
        url.pathname = pathname;
        return url;
    });
}

/** Opens every piece; when one fails, the ones already open are closed again. */
export async function openAll<Name, Source extends { close(): Promise<void> }>(
    names: readonly Name[],
    open: (name: Name) => Promise<Source>,
): Promise<Source[]> {
    const opened: Source[] = [];
    try {
        for (const name of names) opened.push(await open(name));
    } catch (error) {
        await Promise.allSettled(opened.map((source) => source.close()));
        throw error;
    }
    return opened;
}
