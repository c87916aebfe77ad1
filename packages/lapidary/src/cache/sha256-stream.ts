// SHA-256 (FIPS 180-4) of bytes that come piece by piece. Browsers only offer it for bytes that are all there at once,
// and in a worker without a bundler no package can be found by its name.

const blockBytes = 64;

/** The first 32 bits of the fractional parts of the roots of the first primes: square roots, then cube roots. */
function fractions(count: number, root: (prime: number) => number): Int32Array {
    const words = new Int32Array(count);
    let found = 0;
    for (let candidate = 2; found < count; candidate++) {
        let prime = true;
        for (let i = 2; i * i <= candidate; i++) prime &&= candidate % i !== 0;
        if (prime) words[found++] = (root(candidate) % 1) * 2 ** 32;
    }
    return words;
}

const initial = fractions(8, Math.sqrt);
const constants = fractions(64, Math.cbrt);

export class Sha256 {
    private readonly state = initial.slice();
    private readonly schedule = new Int32Array(64);
    private readonly block = new Uint8Array(blockBytes);
    private filled = 0;
    private total = 0;

    update(bytes: Uint8Array): void {
        this.total += bytes.length;
        let used = 0;
        if (this.filled > 0) {
            used = Math.min(blockBytes - this.filled, bytes.length);
            this.block.set(bytes.subarray(0, used), this.filled);
            this.filled += used;
            if (this.filled < blockBytes) return;
            this.compress(this.block, 0, 1);
        }
        const blocks = Math.floor((bytes.length - used) / blockBytes);
        this.compress(bytes, used, blocks);
        const rest = bytes.subarray(used + blocks * blockBytes);
        this.block.set(rest);
        this.filled = rest.length;
    }

    /** In lowercase hexadecimal; nothing can be added afterwards. */
    digest(): string {
        const bits = this.total * 8;
        const padding = new Uint8Array((this.filled < 56 ? 64 : 128) - this.filled);
        padding[0] = 0x80;
        const view = new DataView(padding.buffer);
        view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
        view.setUint32(padding.length - 4, bits >>> 0);
        this.update(padding);
        return [...this.state].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
    }

    private compress(bytes: Uint8Array, start: number, blocks: number): void {
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
        for (let n = 0; n < blocks; n++) {
            expand(view, start + n * blockBytes, this.schedule);
            mix(this.state, this.schedule);
        }
    }
}

/** 16 words of a block to 64. */
function expand(view: DataView, at: number, w: Int32Array): void {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + i * 4);
    for (let i = 16; i < 64; i++) {
        const x = w[i - 15]!;
        const y = w[i - 2]!;
        const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
        const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
        w[i] = (((w[i - 16]! + s0) | 0) + ((w[i - 7]! + s1) | 0)) | 0;
    }
}

/** The 64 rounds. The many `| 0` keep every sum an integer of 32 bits, which makes it several times as fast. */
function mix(state: Int32Array, w: Int32Array): void {
    const k = constants;
    let a = state[0]!;
    let b = state[1]!;
    let c = state[2]!;
    let d = state[3]!;
    let e = state[4]!;
    let f = state[5]!;
    let g = state[6]!;
    let h = state[7]!;
    for (let i = 0; i < 64; i++) {
        const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
        const choice = g ^ (e & (f ^ g));
        const t1 = (((((h + s1) | 0) + choice) | 0) + ((k[i]! + w[i]!) | 0)) | 0;
        const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
        const majority = (a & b) | (c & (a | b));
        h = g;
        g = f;
        f = e;
        e = (d + t1) | 0;
        d = c;
        c = b;
        b = a;
        a = (((t1 + s0) | 0) + majority) | 0;
    }
    state[0]! += a;
    state[1]! += b;
    state[2]! += c;
    state[3]! += d;
    state[4]! += e;
    state[5]! += f;
    state[6]! += g;
    state[7]! += h;
}
