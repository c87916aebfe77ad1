import { storyteller } from 'lapidary/storyteller';
import { answer } from './answer.js';
import { show } from './show.js';

show('storyteller', () => answer(storyteller)).then(() => show('file', () => answer('/model.gguf')));
