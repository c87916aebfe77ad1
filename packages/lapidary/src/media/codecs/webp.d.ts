/** RGBA. */
export function decode(bytes: Uint8Array): Promise<{ width: number; height: number; data: Uint8ClampedArray } | null>;
