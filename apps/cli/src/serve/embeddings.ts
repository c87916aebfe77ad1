// What both dialects tell beside the vectors of texts.

import type { EngineInfo } from 'lapidary';

/** Which kind of vectors they are, where the model was not trained for it. And how many of the texts were too long and were cut. */
export function embeddingHeaders({ description }: EngineInfo, truncated: number): Record<string, string> {
    const trained = description['embedding_size'] !== undefined;
    return {
        ...(trained ? {} : { 'x-lapidary-embeddings': 'mean of the last hidden states of a chat model' }),
        ...(truncated > 0 ? { 'x-lapidary-truncated': String(truncated) } : {}),
    };
}
