import { Lapidary, LapidaryError, type LoadOptions } from 'lapidary';
import { embeddingModel, languageModel } from 'lapidary/ai-sdk';
import * as hub from 'lapidary/hub';
import { loadEngine, nodeGpu } from 'lapidary/node';
import { promptApi } from 'lapidary/prompt-api';
import { storyteller } from 'lapidary/storyteller';

const options: LoadOptions = { backend: 'cpu', onProgress: ({ stage, done, total }) => console.log(stage, done, total) };
const engine = await Lapidary.load(storyteller, options);
const stream = await engine.chat.completions.create({ messages: [{ role: 'user', content: 'Hello' }], stream: true });
for await (const chunk of stream) console.log(chunk.choices[0]?.delta.content ?? '');
const { choices } = await engine.chat.completions.create({ messages: [{ role: 'user', content: 'Hello' }] });
const text: string | null = choices[0].message.content;
// @ts-expect-error: the types are there, and know what is wrong
await engine.chat.completions.create({ messages: 'Hello' });
console.log(text, languageModel(engine).modelId, embeddingModel(engine), promptApi(engine), loadEngine, nodeGpu, hub, LapidaryError);
