// How the requests of endpoints.ts are checked, answered and worded. Loaded with the first of them: an app that speaks to the
// engine in its own words has no use for it.
import { answer, type AnswerOptions } from './answer/answer.js';
import { Fold, Telling, type AnswerEvent, type Ended, type Score } from './answer/events.js';
import { streamOf, type Stream } from './answer/stream.js';
import type { Core } from './core/core.js';
import type { Words } from './dialects/dialect.js';
import type { Progress } from './work.js';
import type {
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionParams,
    Completion,
    CompletionParams,
    EmbeddingParams,
    EmbeddingResponse,
} from './openai.js';
import { openAiChat } from './dialects/openai-chat.js';
import { openAiCompletions } from './dialects/openai-completions.js';
import { checkCompletion, type CheckedCompletion } from './dialects/openai-completions-request.js';
import { checkEmbedding } from './dialects/openai-embeddings-request.js';
import { newHead } from './dialects/head.js';
import type { RequestOptions } from './endpoints.js';
import { shortened } from './vectors.js';
import type { GenerateResult } from './session.js';

export async function chat(
    core: Core,
    params: ChatCompletionParams,
    options: RequestOptions,
): Promise<ChatCompletion | Stream<ChatCompletionChunk>> {
    const { request, stream, echo } = openAiChat.read(params);
    const work: Work = async (context) => await answer(core, request, context);
    return await worded(core, openAiChat, echo, stream, work, options);
}

export async function complete(core: Core, params: CompletionParams, options: RequestOptions): Promise<Completion | Stream<Completion>> {
    const request = checkCompletion(params);
    const work: Work = async (context) => {
        if (!request.echo && !request.readOnly) return await answer(core, request.generate, context);
        const fold = new Fold();
        const onEvent = (event: AnswerEvent) => {
            fold.take(event);
            context.onEvent?.(event);
        };
        const { text, scores, result } = await readPrompt(core, request, { ...context, onEvent });
        if (text !== '') onEvent({ type: 'content', text, logprobs: scores });
        if (!request.readOnly) return fold.ended((await answer(core, request.generate, { ...context, onEvent })).end);
        const end = new Telling().end(result);
        onEvent(end);
        return fold.ended(end);
    };
    return await worded(core, openAiCompletions, request, request.stream, work, options);
}

/** What there is to tell of a prompt, and the answer of which nothing was written. */
async function readPrompt(
    core: Core,
    { prompt, generate, echo, topLogprobs }: CheckedCompletion,
    { signal, onEvent }: AnswerOptions,
): Promise<{ text: string; scores: readonly Score[]; result: GenerateResult }> {
    const addBos = typeof prompt === 'string' && generate.add_bos === true;
    const parseSpecial = generate.parse_special === true;
    const tokens = typeof prompt === 'string' ? [...(await core.tokenize(prompt, { addBos, parseSpecial }))] : prompt;
    const result: GenerateResult = {
        text: '',
        finish_reason: 'length',
        prompt_tokens: tokens.length,
        completion_tokens: 0,
        cached_tokens: 0,
        prompt_ms: 0,
        completion_ms: 0,
        seed: 0,
    };
    const text = !echo ? '' : typeof prompt === 'string' ? prompt : await core.detokenize(prompt, { special: true });
    if (!echo || topLogprobs === undefined) return { text, scores: [], result };
    const onProgress = ({ done, total }: Progress) => onEvent?.({ type: 'reading', done, total });
    const scores = await core.score({ tokens, top: topLogprobs }, { signal, onProgress });
    if (addBos && scores.length === tokens.length - 1) return { text, scores, result };
    const first = await core.detokenize(tokens.slice(0, 1), { special: true });
    return { text, scores: [{ text: first, bytes: [] }, ...scores], result };
}

export async function embed(core: Core, params: EmbeddingParams, options: RequestOptions): Promise<EmbeddingResponse> {
    const { embed, dimensions, base64: asBase64 } = checkEmbedding(params);
    const { vectors, tokens, truncated } = await core.embed(embed, options);
    return {
        object: 'list',
        data: vectors.map((whole, index) => {
            const vector = dimensions === undefined ? whole : shortened(whole, dimensions);
            return { object: 'embedding', index, embedding: asBase64 ? base64(vector) : [...vector] };
        }),
        model: core.info.model,
        usage: { prompt_tokens: tokens, total_tokens: tokens },
        ...(truncated > 0 ? { truncated_inputs: truncated } : {}),
    };
}

type Work = (options: AnswerOptions) => Promise<Ended>;

/** Whole, or in pieces while it is written. */
async function worded<Echo, Piece, Whole>(
    core: Core,
    words: Words<Echo, Piece, Whole>,
    echo: Echo,
    stream: boolean,
    work: Work,
    { signal, onProgress }: RequestOptions,
): Promise<Whole | Stream<Piece>> {
    const head = newHead(words.prefix, core.info);
    const progress = (event: AnswerEvent) => {
        if (event.type === 'reading') onProgress?.({ done: event.done, total: event.total });
    };
    if (!stream) return words.whole(head, echo, await work({ signal, onEvent: progress }));
    const pieces = words.pieces(head, echo);
    return streamOf<Piece>(async (push, stop) => {
        const onEvent = (event: AnswerEvent) => {
            progress(event);
            pieces(event).forEach(push);
        };
        await work({ signal: stop, onEvent });
    }, signal);
}

function base64(vector: Float32Array): string {
    const bytes = new Uint8Array(vector.length * 4);
    const view = new DataView(bytes.buffer);
    vector.forEach((value, i) => view.setFloat32(i * 4, value, true));
    let text = '';
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text);
}
