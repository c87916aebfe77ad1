export { MPEGDecoder as Decoder } from 'mpg123-decoder';
