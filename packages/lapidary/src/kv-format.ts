/**
 * How the GPU keeps keys and values: floats, half floats, 16-bit whole numbers with a scale for each head (as small as
 * half floats and more exact), or bytes with a scale for every 32 of them.
 */
export type KvFormat = (typeof kvFormats)[number];
export const kvFormats = ['f32', 'f16', 'i16', 'q8'] as const;
