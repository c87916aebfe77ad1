// What both dialects tell beside the vectors of texts.

/**
 * Which kind of vectors they are, for who wonders: the models here are chat models, and none was trained for it. And how
 * many of the texts were too long and were cut.
 */
export function embeddingHeaders(truncated: number): Record<string, string> {
    return {
        'x-lapidary-embeddings': 'mean of the last hidden states of a chat model',
        ...(truncated > 0 ? { 'x-lapidary-truncated': String(truncated) } : {}),
    };
}
