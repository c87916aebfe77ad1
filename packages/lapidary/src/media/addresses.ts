// Where what reads pictures and sounds is: modules that stand alone, each in a file of its own. By address, not by name: a worker
// has to be one file for some bundlers, and they all copy what is named like this beside it.
export type Codec = 'jpeg' | 'webp' | 'inflate' | 'mp3' | 'flac' | 'opus' | 'vorbis';
export type CodecAddresses = Record<Codec, URL>;

export function codecAddresses(): CodecAddresses {
    return {
        jpeg: new URL('./codecs/jpeg.js', import.meta.url),
        webp: new URL('./codecs/webp.js', import.meta.url),
        inflate: new URL('./codecs/inflate.js', import.meta.url),
        mp3: new URL('./codecs/mp3.js', import.meta.url),
        flac: new URL('./codecs/flac.js', import.meta.url),
        opus: new URL('./codecs/opus.js', import.meta.url),
        vorbis: new URL('./codecs/vorbis.js', import.meta.url),
    };
}

/** core/senses.ts with all it needs but the decoders (tools/bundle-codecs.mjs). */
export function sensesAddress(): URL {
    return new URL('./senses.js', import.meta.url);
}

export async function importFrom(address: URL): Promise<unknown> {
    return await import(/* @vite-ignore */ /* webpackIgnore: true */ /* turbopackIgnore: true */ address.href);
}
