export { OggVorbisDecoder as Decoder } from '@wasm-audio-decoders/ogg-vorbis';
