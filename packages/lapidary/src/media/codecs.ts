// The decoders, each loaded when the first file of its kind comes.
import { codecAddresses, importFrom, type Codec, type CodecAddresses } from './addresses.js';
import type { StreamDecoder } from './codecs/decoder.js';
import type * as inflate from './codecs/inflate.js';
import type * as jpeg from './codecs/jpeg.js';
import type * as webp from './codecs/webp.js';

interface Sounds {
    Decoder: new () => StreamDecoder;
}
interface Codecs extends Record<Codec, unknown> {
    jpeg: typeof jpeg;
    webp: typeof webp;
    inflate: typeof inflate;
    mp3: Sounds;
    flac: Sounds;
    opus: Sounds;
    vorbis: Sounds;
}

let addresses: CodecAddresses | undefined;

/** Where a bundler has put them, which only what it has bundled knows. */
export function useCodecs(found: CodecAddresses): void {
    addresses = found;
}

export async function loadCodec<C extends Codec>(name: C): Promise<Codecs[C]> {
    return (await importFrom((addresses ?? codecAddresses())[name])) as Codecs[C];
}
