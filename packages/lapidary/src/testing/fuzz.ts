// Fuzzing without a compiler's help: seeds are changed at random and given to a parser, whose promises must hold for any
// bytes. The same number gives the same run, so what was found can be looked at again.
import { promises as fs } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface Target {
    name: string;
    /** Throws when a promise is broken. */
    check(bytes: Uint8Array): void | Promise<void>;
    /** Pieces that such files are made of, which chance alone would not find. */
    words: readonly string[];
    /** Makes bytes right that would otherwise be refused at the door, such as checksums. */
    repair?(bytes: Uint8Array): Uint8Array;
}

const longest = 8192;
const corpus = fileURLToPath(new URL('../../../../tests/data/fuzz/', import.meta.url));

export async function seedsOf(name: string): Promise<Uint8Array[]> {
    const files = (await fs.readdir(corpus + name)).sort();
    return await Promise.all(files.map(async (file) => new Uint8Array(await fs.readFile(`${corpus}${name}/${file}`))));
}

/** The bytes of one run. */
export function inputOf(target: Target, seeds: readonly Uint8Array[], run: number): Uint8Array {
    const random = new Random(run);
    let bytes = (seeds[run % seeds.length] ?? new Uint8Array(0)).slice();
    if (run < seeds.length) return bytes;
    for (let changes = 1 + random.below(6); changes > 0; changes--) {
        bytes = change(bytes, random, target.words, seeds).slice(0, longest);
    }
    return target.repair && random.below(4) > 0 ? target.repair(bytes) : bytes;
}

function change(
    bytes: Uint8Array,
    random: Random,
    words: readonly string[],
    seeds: readonly Uint8Array[],
): Uint8Array {
    const at = random.below(bytes.length + 1);
    const length = random.below(Math.min(64, bytes.length - at + 1));
    const text = (given: string) => new TextEncoder().encode(given);
    switch (random.below(8)) {
        case 0: // a bit
            return bytes.map((byte, i) => (i === at ? byte ^ (1 << random.below(8)) : byte));
        case 1: // other bytes
            return spliced(bytes, at, length, Uint8Array.from({ length }, () => random.below(256)));
        case 2: // something left out
            return spliced(bytes, at, length, new Uint8Array(0));
        case 3: // something twice
            return spliced(bytes, at, 0, bytes.slice(at, at + length));
        case 4: // cut short
            return random.below(4) === 0 ? bytes.slice(0, at) : bytes;
        case 5: {
            const word = words[random.below(words.length)] ?? '';
            return spliced(bytes, at, random.below(2) * Math.min(word.length, bytes.length - at), text(word));
        }
        case 6: {
            // another number where there is one
            const numbers = ['0', '-1', '1', '255', '4294967296', '9007199254740991', '9007199254740992', '1e308', '0.5', 'null'];
            const shown = new TextDecoder('latin1').decode(bytes);
            const found = [...shown.matchAll(/\d+/g)];
            const chosen = found[random.below(found.length)];
            if (!chosen) return bytes;
            return spliced(bytes, chosen.index, chosen[0].length, text(numbers[random.below(numbers.length)] ?? ''));
        }
        default: {
            // a part of another one
            const other = seeds[random.below(seeds.length)] ?? bytes;
            const from = random.below(other.length + 1);
            return spliced(bytes, at, length, other.slice(from, from + random.below(200)));
        }
    }
}

function spliced(bytes: Uint8Array, at: number, removed: number, added: Uint8Array): Uint8Array {
    const result = new Uint8Array(bytes.length - removed + added.length);
    result.set(bytes.subarray(0, at));
    result.set(added, at);
    result.set(bytes.subarray(at + removed), at + added.length);
    return result;
}

/** Small, and the same everywhere: mulberry32. */
class Random {
    constructor(private state: number) {}

    below(limit: number): number {
        this.state = (this.state + 0x6d2b79f5) | 0;
        let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * limit);
    }
}
