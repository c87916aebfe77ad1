// Checksums against accidents, not against people: whoever can write the file can also write its checksums. What
// comes from the network is proven by SHA-256. Written here and not taken from a package, because in a worker without
// a bundler no package can be found by its name.

const [primeA, primeB, primeC] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d];

/** 16 hexadecimal digits. Four lanes of 32 bits, as in xxHash: some GB/s, so that checking costs less than reading. */
export function checksum(bytes: Uint8Array): string {
    // A view of words must begin at a multiple of four.
    const { buffer, byteOffset, length } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
    const words = new Int32Array(buffer, byteOffset, length >>> 2);
    let a = primeA | 0;
    let b = primeB | 0;
    let c = primeC | 0;
    let d = length | 0;
    const whole = words.length & ~3;
    for (let i = 0; i < whole; i += 4) {
        a = step(a, words[i]!);
        b = step(b, words[i + 1]!);
        c = step(c, words[i + 2]!);
        d = step(d, words[i + 3]!);
    }
    for (let i = whole * 4; i < length; i++) a = step(a, bytes[i]!);
    return hex(finish(a, b, c, d)) + hex(finish(d, c, b, a));
}

function step(lane: number, word: number): number {
    const sum = (lane + Math.imul(word, primeB)) | 0;
    return Math.imul((sum << 13) | (sum >>> 19), primeA);
}

function finish(a: number, b: number, c: number, d: number): number {
    let hash = a;
    for (const lane of [b, c, d, 0]) {
        hash = Math.imul(hash ^ (hash >>> 15) ^ lane, primeC);
        hash = Math.imul(hash ^ (hash >>> 13), primeB);
    }
    return hash ^ (hash >>> 16);
}

function hex(word: number): string {
    return (word >>> 0).toString(16).padStart(8, '0');
}

/** Names a text of any length in 16 hexadecimal digits. */
export function shortName(text: string): string {
    return checksum(new TextEncoder().encode(text));
}

/** Eight hexadecimal digits, for a line of text. */
export function lineChecksum(line: string): string {
    return shortName(line).slice(0, 8);
}
