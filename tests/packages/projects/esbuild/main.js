import { answer } from './answer.js';
import { show } from './show.js';

// esbuild does not follow addresses in code: the files are placed by the build, and named here (docs/api.md, Bundlers).
const placed = {
    worker: () => new Worker('/lapidary/worker.js', { type: 'module' }),
    wasm: '/lapidary/lapidary.wasm',
    builtinUrl: '/lapidary/storyteller-q4_k_m.gguf',
};
await show('placed', () => answer('builtin', placed));
await show('forgotten', () => answer('/lapidary/storyteller-q4_k_m.gguf'));
