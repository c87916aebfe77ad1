// Ollama's endpoints that answer: chat, generate and embeddings.
import type { ChatCompletionParams, ChatMessage, EmbeddingParams, JsonObject } from 'lapidary';
import type { Bodies, Body } from './body.js';
import type { CatalogueEntry } from './catalogue.js';
import { embeddingHeaders } from './embeddings.js';
import { badRequest } from './errors.js';
import type { Context, Routes } from './http.js';
import { ignoredHeader } from './ignored.js';
import type { KeepAlive, Ready } from './loaded.js';
import { withModelDefaults } from './model-defaults.js';
import { Answer, chatMembers, generateMembers, joined, nanoseconds, nothing, type Piece } from './ollama-answer.js';
import { fillTemplate } from './ollama-template.js';
import { packContext, unpackContext } from './ollama-context.js';
import {
    readChatParams,
    readEmbed,
    readFormat,
    readKeepAlive,
    readMessages,
    readOptions,
    readStream,
    readText,
    withImages,
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
    app.post('/api/chat', async (c) => await chat(c, service, await bodies.read(c)));
    app.post('/api/generate', async (c) => await generate(c, service, await bodies.read(c)));
    app.post('/api/embed', async (c) => await embed(c, service, await bodies.read(c)));
    app.post('/api/embeddings', async (c) => await embedOne(c, service, await bodies.read(c)));
}

/** What a request asks for. Made again from its bytes when its turn has come: until then only those are kept. */
interface Asked {
    ask: Ask;
    options: OllamaOptions;
    members(piece: Piece): object;
    /** What the last line has besides, of everything that was written. */
    last?(text: string): object;
}

async function chat(c: Context, service: Service, body: Body): Promise<Response> {
    const request = look(body, askedChat, ({ messages }) => readMessages(messages).length === 0);
    const entry = await service.find(request.model);
    if (request.empty) return await loadOnly(c, service, entry, request, chatMembers);
    return await respond(c, service, entry, body, request, askedChat);
}

/**
 * What has to be known of a request before its turn, and whether it is wrong. A function of its own, so that nothing of
 * what the body became outlives it: it is read again when its turn has come.
 */
function look(body: Body, read: (body: JsonObject) => Asked, isEmpty: (body: JsonObject) => boolean) {
    const object = body.object();
    const empty = isEmpty(object);
    const { members, options } = empty ? { members: undefined, options: undefined } : read(object);
    return {
        model: object['model'],
        keepAlive: readKeepAlive(object['keep_alive']),
        stream: readStream(object),
        empty,
        members,
        ignored: options?.ignored ?? [],
        context: options?.context ?? 0,
    };
}

type Looked = ReturnType<typeof look>;

function askedChat(body: JsonObject): Asked {
    const options = readOptions(body);
    const params = readChatParams(body, readMessages(body['messages']), options);
    return { ask: askChat(params), options, members: chatMembers };
}

async function generate(c: Context, service: Service, body: Body): Promise<Response> {
    const request = look(body, askedGenerate, (object) => readText(object, 'prompt') === '');
    const entry = await service.find(request.model);
    if (request.empty) return await loadOnly(c, service, entry, request, generateMembers);
    return await respond(c, service, entry, body, request, askedGenerate);
}

function askedGenerate(body: JsonObject): Asked {
    if (readText(body, 'suffix') !== '') throw badRequest("the model does not support insert: leave out 'suffix'");
    const options = readOptions(body);
    const prompt = readText(body, 'prompt');
    const system = readText(body, 'system');
    const template = readText(body, 'template');
    const members = generateMembers;
    const images = Array.isArray(body['images']) && body['images'].length > 0;
    if (images && (template !== '' || body['raw'] === true)) throw badRequest("'images' need the model's own template: leave out 'raw' and 'template'");
    if (template !== '' && body['raw'] !== true) {
        return { ask: askRaw(fillTemplate(template, { prompt, system }), body, options), options, members };
    }
    if (body['raw'] === true) return { ask: askRaw(prompt, body, options), options, members };

    const before = unpackContext(body['context']);
    const talk = system === '' ? before : before.filter(({ role }) => role !== 'system');
    const messages: ChatMessage[] = [...talk, { role: 'user', content: withImages(prompt, body['images']) }];
    if (system !== '') messages.unshift({ role: 'system', content: system });
    return {
        ask: askChat(readChatParams(body, messages, options)),
        options,
        members,
        // Without pictures: they would be much larger than what they are for.
        last: (content) => ({ context: packContext([...talk, { role: 'user', content: prompt }, { role: 'assistant', content }]) }),
    };
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
    const { logprobs, top_logprobs: top } = body;
    const likely = logprobs === true ? { logprobs: typeof top === 'number' ? top : 0 } : {};
    return async ({ engine }, signal, answer, take) => {
        const form = format ? { response_format: format } : {};
        const request = { ...sampling, ...likely, prompt, ...form, ...streaming };
        const stream = await engine.completions.create(request, { signal });
        for await (const chunk of stream) take(answer.textPiece(chunk));
    };
}

async function respond(
    c: Context,
    service: Service,
    entry: CatalogueEntry,
    body: Body,
    { keepAlive, stream, ignored, context, members = generateMembers }: Looked,
    read: (body: JsonObject) => Asked,
): Promise<Response> {
    const head = () => ({ model: entry.id, created_at: new Date().toISOString() });
    const answer = new Answer();
    const run = async (tell: (piece: Piece) => void) =>
        await service.run(c, entry, keepAlive, async (ready, signal) => {
            if (context > ready.engine.info.contextLength) ignored.push('num_ctx');
            const { ask, last } = read(body.object());
            let written = '';
            await ask(ready, signal, answer, (piece) => {
                if (!piece) return;
                if (last) written += piece.content;
                tell(piece);
            });
            return { ...answer.summary(ready.loadMs), ...last?.(written) };
        });
    if (!stream) {
        const pieces: Piece[] = [];
        const end = await run((piece) => void pieces.push(piece));
        return c.json({ ...head(), ...members(joined(pieces)), done: true, ...end }, 200, ignoredHeader(ignored));
    }
    return await streamed(
        c,
        lines,
        async (send) => {
            const tell = (line: object) => send(`${JSON.stringify({ ...head(), ...line })}\n`);
            const end = await run((piece) => tell({ ...members(piece), done: false }));
            tell({ ...members(nothing), done: true, ...end });
        },
        () => ignoredHeader(ignored),
    );
}

/** Without a question, Ollama's clients ask for the model to be loaded, or with `keep_alive: 0` to be let go. */
async function loadOnly(
    c: Context,
    service: Service,
    entry: CatalogueEntry,
    { keepAlive }: Looked,
    members: (piece: Piece) => object,
): Promise<Response> {
    if (keepAlive === 0) await service.loaded.unload(entry.id);
    else await service.run(c, entry, keepAlive, async () => undefined);
    const done_reason = keepAlive === 0 ? 'unload' : 'load';
    const created_at = new Date().toISOString();
    return c.json({ model: entry.id, created_at, ...members(nothing), done: true, done_reason });
}

async function embed(c: Context, service: Service, body: Body): Promise<Response> {
    const started = performance.now();
    const request = lookEmbed(body, readEmbed);
    const entry = await service.find(request.model);
    const { embeddings, tokens, headers, loadMs } = await embedTexts(c, service, entry, request, () => readEmbed(body.object()));
    const answer = {
        model: entry.id,
        embeddings,
        total_duration: nanoseconds(performance.now() - started),
        load_duration: nanoseconds(loadMs),
        prompt_eval_count: tokens,
    };
    return c.json(answer, 200, headers);
}

/** The older endpoint: one text, one vector, which here has length 1 too. */
async function embedOne(c: Context, service: Service, body: Body): Promise<Response> {
    const read = (from: JsonObject) => readEmbed({ ...from, input: readText(from, 'prompt') });
    const request = lookEmbed(body, read);
    const entry = await service.find(request.model);
    const { embeddings, headers } = await embedTexts(c, service, entry, request, () => read(body.object()));
    return c.json({ embedding: embeddings[0] ?? [] }, 200, headers);
}

/** As `look`. */
function lookEmbed(body: Body, read: (body: JsonObject) => EmbeddingParams | undefined) {
    const object = body.object();
    read(object);
    return { model: object['model'], keepAlive: readKeepAlive(object['keep_alive']) };
}

async function embedTexts(
    c: Context,
    service: Service,
    entry: CatalogueEntry,
    { keepAlive }: { keepAlive: KeepAlive },
    read: () => EmbeddingParams | undefined,
) {
    return await service.run(c, entry, keepAlive, async ({ engine, loadMs }, signal) => {
        const params = read();
        if (!params) return { embeddings: [], tokens: 0, headers: embeddingHeaders(engine.info, 0), loadMs };
        const { data, usage, truncated_inputs: truncated = 0 } = await engine.embeddings.create(params, { signal });
        const headers = embeddingHeaders(engine.info, truncated);
        return { embeddings: data.map(({ embedding }) => embedding), tokens: usage.prompt_tokens, headers, loadMs };
    });
}
