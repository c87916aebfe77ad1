export { FLACDecoder as Decoder } from '@wasm-audio-decoders/flac';
