import { storyteller } from 'lapidary/storyteller';
import { answer } from './answer.js';
import { show } from './show.js';

await show('storyteller', () => answer(storyteller));
await show('file', () => answer('/model.gguf'));
await show('missing', () => answer('/no-such-model.gguf'));
await show('builtin', () => answer('builtin'));
