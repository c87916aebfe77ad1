// What the engine's side needs for messages with pictures and sounds in them. A module of its own, which most never load.
export { Media, blind } from './media.js';
export { mediaParts } from '../media/parts.js';
export { useCodecs } from '../media/codecs.js';
