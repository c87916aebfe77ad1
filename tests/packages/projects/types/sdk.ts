import { embedMany, generateText } from 'ai';
import type { LoadedEngine } from 'lapidary';
import { embeddingModel, languageModel } from 'lapidary/ai-sdk';

export async function speak(engine: LoadedEngine): Promise<string> {
    await embedMany({ model: embeddingModel(engine), values: ['a'] });
    return (await generateText({ model: languageModel(engine), prompt: 'Hello' })).text;
}
