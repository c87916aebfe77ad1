// Vectors of texts.
import { LapidaryError } from './error.js';

/** The same direction, of length 1. */
export function normalised(vector: Float32Array): Float32Array {
    const length = Math.hypot(...vector);
    return length > 0 ? vector.map((value) => value / length) : vector;
}

/** The first numbers, of length 1 again. */
export function shortened(vector: Float32Array, dimensions: number): Float32Array {
    if (dimensions > vector.length) {
        throw new LapidaryError(
            'invalid_argument',
            `'dimensions' is ${dimensions}, but this model's vectors have ${vector.length} numbers: ask for as many or fewer`,
        );
    }
    return normalised(vector.subarray(0, dimensions));
}
