export { OggOpusDecoder as Decoder } from 'ogg-opus-decoder';
