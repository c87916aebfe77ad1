// Ollama's endpoints that answer: chat, generate and embeddings.
import type { ChatCompletionParams, ChatMessage, JsonObject, JsonValue } from 'lapidary';
import type { Bodies } from './body.js';
import type { CatalogueEntry } from './catalogue.js';
import { HttpError, badRequest } from './errors.js';
import type { Context, Routes } from './http.js';
import type { Ready } from './loaded.js';
import { withModelDefaults } from './model-defaults.js';
import { Answer, chatMembers, generateMembers, joined, nanoseconds, nothing, type Piece } from './ollama-answer.js';
import {
    readChatParams,
    readFormat,
    readKeepAlive,
    readMessages,
    readOptions,
    readStream,
    readText,
    refuseImages,
    type OllamaOptions,
} from './ollama-request.js';
import type { Service } from './service.js';
import { streamed, type StreamShape } from './streams.js';

const lines: StreamShape = {
    contentType: 'application/x-ndjson',
    tellError: (error) => `${JSON.stringify({ error: error.message })}\n`,
};

/** Also for who wants everything at once: there is one way to read answers. */
const streaming = { stream: true, stream_options: { include_usage: true } } as const;

/** Asks the model and gives every piece of its answer to `take`. */
type Ask = (
    ready: Ready,
    signal: AbortSignal,
    answer: Answer,
    take: (piece: Piece | undefined) => void,
) => Promise<void>;

export function addOllamaRoutes(app: Routes, service: Service, bodies: Bodies): void {
    app.post('/api/chat', async (c) => await chat(c, service, await bodies.object(c)));
    app.post('/api/generate', async (c) => await generate(c, service, await bodies.object(c)));
    app.post('/api/embed', async (c) => await embed(c, service, await bodies.object(c)));
    app.post('/api/embeddings', async (c) => await embedOne(c, service, await bodies.object(c)));
    for (const path of ['/api/pull', '/api/push', '/api/create', '/api/copy', '/api/delete', '/api/blobs/*']) {
        app.all(path, () => {
            throw new HttpError(501, 'Lapidary only reads models; use Ollama itself to pull, make or remove them');
        });
    }
}

async function chat(c: Context, service: Service, body: JsonObject): Promise<Response> {
    const entry = await service.find(body['model']);
    const messages = readMessages(body['messages']);
    if (messages.length === 0) return await loadOnly(c, service, entry, body, chatMembers);
    const options = readOptions(body);
    const ask = askChat(readChatParams(body, messages, options));
    return await respond(c, service, entry, body, options, ask, chatMembers);
}

async function generate(c: Context, service: Service, body: JsonObject): Promise<Response> {
    const entry = await service.find(body['model']);
    const prompt = readText(body, 'prompt');
    refuseImages(body['images']);
    if (readText(body, 'suffix') !== '') throw badRequest(`${entry.id} does not support insert`);
    if (readText(body, 'template') !== '') throw badRequest("a 'template' cannot be given: the model has its own");
    if (prompt === '') return await loadOnly(c, service, entry, body, generateMembers);
    const options = readOptions(body);
    if (Array.isArray(body['context'])) options.ignored.push('context');
    const system = readText(body, 'system');
    if (body['raw'] === true) {
        return await respond(c, service, entry, body, options, askRaw(prompt, body, options), generateMembers);
    }

    const messages: ChatMessage[] = [{ role: 'user', content: prompt }];
    if (system !== '') messages.unshift({ role: 'system', content: system });
    const ask = askChat(readChatParams(body, messages, options));
    return await respond(c, service, entry, body, options, ask, generateMembers);
}

function askChat(params: ChatCompletionParams): Ask {
    return async ({ engine, ...model }, signal, answer, take) => {
        const request = { ...withModelDefaults(params, model), ...streaming };
        const stream = await engine.chat.completions.create(request, { signal });
        for await (const chunk of stream) take(answer.chatPiece(chunk));
    };
}

/** A prompt that is continued as it is, without the turns of a conversation around it. */
function askRaw(prompt: string, body: JsonObject, { sampling }: OllamaOptions): Ask {
    const format = readFormat(body['format']);
    return async ({ engine }, signal, answer, take) => {
        const request = { ...sampling, prompt, ...(format ? { response_format: format } : {}), ...streaming };
        const stream = await engine.completions.create(request, { signal });
        for await (const chunk of stream) take(answer.textPiece(chunk));
    };
}

async function respond(
    c: Context,
    service: Service,
    entry: CatalogueEntry,
    body: JsonObject,
    options: OllamaOptions,
    ask: Ask,
    members: (piece: Piece) => object,
): Promise<Response> {
    const keepAlive = readKeepAlive(body['keep_alive']);
    const head = () => ({ model: entry.id, created_at: new Date().toISOString() });
    const answer = new Answer();
    const askFor: Ask = async (ready, ...rest) => {
        if ((options.context ?? 0) > ready.engine.info.contextLength) options.ignored.push('num_ctx');
        await ask(ready, ...rest);
    };
    if (!readStream(body)) {
        const pieces: Piece[] = [];
        const summary = await service.run(c, entry, keepAlive, async (ready, signal) => {
            await askFor(ready, signal, answer, (piece) => piece && pieces.push(piece));
            return answer.summary(ready.loadMs);
        });
        return c.json({ ...head(), ...members(joined(pieces)), done: true, ...summary }, 200, ignoredHeader(options));
    }
    return await streamed(
        lines,
        async (send) => {
            const summary = await service.run(c, entry, keepAlive, async (ready, signal) => {
                const take = (piece: Piece | undefined) => {
                    if (piece) send(`${JSON.stringify({ ...head(), ...members(piece), done: false })}\n`);
                };
                await askFor(ready, signal, answer, take);
                return answer.summary(ready.loadMs);
            });
            send(`${JSON.stringify({ ...head(), ...members(nothing), done: true, ...summary })}\n`);
        },
        () => ignoredHeader(options),
    );
}

/** Without a question, Ollama's clients ask for the model to be loaded, or with `keep_alive: 0` to be let go. */
async function loadOnly(
    c: Context,
    service: Service,
    entry: CatalogueEntry,
    body: JsonObject,
    members: (piece: Piece) => object,
): Promise<Response> {
    const keepAlive = readKeepAlive(body['keep_alive']);
    if (keepAlive === 0) await service.loaded.unload(entry.id);
    else await service.run(c, entry, keepAlive, async () => undefined);
    const done_reason = keepAlive === 0 ? 'unload' : 'load';
    const created_at = new Date().toISOString();
    return c.json({ model: entry.id, created_at, ...members(nothing), done: true, done_reason });
}

async function embed(c: Context, service: Service, body: JsonObject): Promise<Response> {
    const started = performance.now();
    const entry = await service.find(body['model']);
    if (body['dimensions'] !== undefined && body['dimensions'] !== null) {
        throw badRequest("'dimensions' is not supported: embeddings have as many as the model is wide");
    }
    const input = readInput(body['input']);
    const { embeddings, tokens, loadMs } = await embedTexts(c, service, entry, body, input);
    return c.json({
        model: entry.id,
        embeddings,
        total_duration: nanoseconds(performance.now() - started),
        load_duration: nanoseconds(loadMs),
        prompt_eval_count: tokens,
    });
}

async function embedOne(c: Context, service: Service, body: JsonObject): Promise<Response> {
    const entry = await service.find(body['model']);
    const prompt = readText(body, 'prompt');
    const { embeddings } = await embedTexts(c, service, entry, body, prompt === '' ? [] : [prompt]);
    return c.json({ embedding: embeddings[0] ?? [] });
}

async function embedTexts(c: Context, service: Service, entry: CatalogueEntry, body: JsonObject, input: string[]) {
    readOptions(body);
    return await service.run(c, entry, readKeepAlive(body['keep_alive']), async ({ engine, loadMs }, signal) => {
        if (input.length === 0) return { embeddings: [], tokens: 0, loadMs };
        const { data, usage } = await engine.embeddings.create({ input, encoding_format: 'float' }, { signal });
        return { embeddings: data.map(({ embedding }) => embedding), tokens: usage.prompt_tokens, loadMs };
    });
}

function readInput(value: JsonValue | undefined): string[] {
    if (typeof value === 'string') return [value];
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value) || !value.every((text): text is string => typeof text === 'string')) {
        throw badRequest("'input' must be a string or a list of strings");
    }
    return value;
}

/** Not an error, as Ollama does it, but to be seen by who looks. */
function ignoredHeader({ ignored }: OllamaOptions): Record<string, string> {
    const names = ignored.filter((name) => /^\w{1,40}$/.test(name)).slice(0, 20);
    return names.length === 0 ? {} : { 'x-lapidary-ignored': names.join(', ') };
}

