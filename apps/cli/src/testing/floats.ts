// Comparing arrays of floats.

/** |a − b| / |b| */
export function relativeError(actual: Float32Array, expected: Float32Array): number {
    assertSameLength(actual, expected);
    let difference = 0;
    let size = 0;
    for (let i = 0; i < expected.length; i++) {
        const wanted = expected[i] ?? NaN;
        difference += ((actual[i] ?? NaN) - wanted) ** 2;
        size += wanted ** 2;
    }
    return Math.sqrt(difference / size);
}

/** Little-endian float32, as `logits` writes them. */
export function floats(bytes: Buffer): Float32Array {
    return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
}

function assertSameLength(actual: Float32Array, expected: Float32Array): void {
    if (actual.length !== expected.length) throw new Error(`${actual.length} numbers, not ${expected.length}`);
}
