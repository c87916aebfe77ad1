import { Lapidary } from 'lapidary';

const engine = await Lapidary.load('./tiny.gguf', { backend: 'gpu', contextLength: 64 });
const text = await engine.complete('a', { max_tokens: 2 });
console.log(engine.info.backend, typeof text);
