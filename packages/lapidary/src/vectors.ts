// Vectors of texts.

/** The same direction, of length 1. */
export function normalised(vector: Float32Array): Float32Array {
    const length = Math.hypot(...vector);
    return length > 0 ? vector.map((value) => value / length) : vector;
}
