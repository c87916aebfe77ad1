// Texts → vectors of length 1: reading them as the model wants, cutting what is too long, and asking for all at once.
import { LapidaryError } from '../error.js';
import type { Model } from '../model.js';
import type { AdapterUse, Session } from '../session.js';
import { normalised } from '../vectors.js';
import type { CallContext, EmbedRequest, Embedded } from './core.js';

type Tokens = readonly number[] | Int32Array;

export async function embedTexts(
    model: Model,
    reader: Session,
    { input, truncate, longest: most = Infinity, task, title }: EmbedRequest,
    adapters: readonly AdapterUse[],
    { signal, onProgress }: CallContext,
): Promise<Embedded> {
    const longest = Math.min(reader.context, most);
    const texts = input.filter((one) => typeof one === 'string');
    const read = texts.length > 0 || task !== undefined ? await model.embeddingInput(texts, { task, title, most: longest }) : [];
    let next = 0;
    let truncated = 0;
    const all = input.map((one, i): Tokens => {
        const { tokens, whole } = typeof one === 'string' ? read[next++]! : { tokens: one.slice(0, longest), whole: one.length };
        if (whole > longest) {
            if (!truncate) throw tooLong(input.length > 1 ? `text ${i + 1}` : 'the text', whole, longest);
            truncated++;
        }
        return tokens;
    });
    const vectors = await reader.embedAll(all, { adapters, ...(signal ? { signal } : {}), ...(onProgress ? { onProgress } : {}) });
    return {
        vectors: vectors.map(normalised),
        tokens: all.reduce((sum, { length }) => sum + length, 0),
        truncated,
    };
}

function tooLong(what: string, tokens: number, longest: number): LapidaryError {
    return new LapidaryError(
        'limit',
        `${what} has ${tokens} tokens and the context holds ${longest}: shorten it, or let it be cut with truncate`,
    );
}
