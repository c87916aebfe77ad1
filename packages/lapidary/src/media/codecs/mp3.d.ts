import type { StreamDecoder } from './decoder.js';

export const Decoder: new () => StreamDecoder;
