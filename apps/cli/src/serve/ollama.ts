// Ollama's endpoints that answer: chat, generate and embeddings.
import type { ChatMessage, EmbeddingParams, GenerateRequest, JsonObject } from 'lapidary';
import { checkCompletion, nanoseconds, ollamaEnd, ollamaMembers, ollamaPieces, openAiChat, wholeOllama, type End, type OllamaKind } from 'lapidary/dialects';
import type { Bodies, Body } from './body.js';
import type { CatalogueEntry } from './catalogue.js';
import { embeddingHeaders } from './embeddings.js';
import { badRequest } from './errors.js';
import type { Context, Routes } from './http.js';
import { ignoredHeader } from './ignored.js';
import type { KeepAlive } from './loaded.js';
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
import { respond } from './respond.js';
import type { Service } from './service.js';
import type { StreamShape } from './streams.js';

const lines: StreamShape = {
    contentType: 'application/x-ndjson',
    tellError: (error) => `${JSON.stringify({ error: error.message })}\n`,
};

export function addOllamaRoutes(app: Routes, service: Service, bodies: Bodies): void {
    app.post('/api/chat', async (c) => await chat(c, service, await bodies.read(c)));
    app.post('/api/generate', async (c) => await generate(c, service, await bodies.read(c)));
    app.post('/api/embed', async (c) => await embed(c, service, await bodies.read(c)));
    app.post('/api/embeddings', async (c) => await embedOne(c, service, await bodies.read(c)));
}

/** What a request asks for. Made again from its bytes when its turn has come: until then only those are kept. */
interface Asked {
    kind: OllamaKind;
    request: GenerateRequest;
    options: OllamaOptions;
    /** What the last line has besides, of everything that was written. */
    last?(text: string): JsonObject;
}

async function chat(c: Context, service: Service, body: Body): Promise<Response> {
    const request = look(body, askedChat, ({ messages }) => readMessages(messages).length === 0);
    const entry = await service.find(request.model);
    if (request.empty) return await loadOnly(c, service, entry, request, 'chat');
    return await tell(c, service, entry, body, request, askedChat);
}

/**
 * What has to be known of a request before its turn, and whether it is wrong. A function of its own, so that nothing of
 * what the body became outlives it: it is read again when its turn has come.
 */
function look(body: Body, read: (body: JsonObject) => Asked, isEmpty: (body: JsonObject) => boolean) {
    const object = body.object();
    const empty = isEmpty(object);
    const options = empty ? undefined : read(object).options;
    return {
        model: object['model'],
        keepAlive: readKeepAlive(object['keep_alive']),
        stream: readStream(object),
        empty,
        ignored: options?.ignored ?? [],
        context: options?.context ?? 0,
    };
}

type Looked = ReturnType<typeof look>;

function askedChat(body: JsonObject): Asked {
    const options = readOptions(body);
    const params = readChatParams(body, readMessages(body['messages']), options);
    return { kind: 'chat', request: openAiChat.read(params).request, options };
}

async function generate(c: Context, service: Service, body: Body): Promise<Response> {
    const request = look(body, askedGenerate, (object) => readText(object, 'prompt') === '');
    const entry = await service.find(request.model);
    if (request.empty) return await loadOnly(c, service, entry, request, 'generate');
    return await tell(c, service, entry, body, request, askedGenerate);
}

function askedGenerate(body: JsonObject): Asked {
    if (readText(body, 'suffix') !== '') throw badRequest("the model does not support insert: leave out 'suffix'");
    const options = readOptions(body);
    const prompt = readText(body, 'prompt');
    const system = readText(body, 'system');
    const template = readText(body, 'template');
    const images = Array.isArray(body['images']) && body['images'].length > 0;
    if (images && (template !== '' || body['raw'] === true)) throw badRequest("'images' need the model's own template: leave out 'raw' and 'template'");
    if (template !== '' && body['raw'] !== true) return askedRaw(fillTemplate(template, { prompt, system }), body, options);
    if (body['raw'] === true) return askedRaw(prompt, body, options);

    const before = unpackContext(body['context']);
    const talk = system === '' ? before : [{ role: 'system' as const, content: system }, ...before.filter(({ role }) => role !== 'system')];
    const messages: ChatMessage[] = [...talk, { role: 'user', content: withImages(prompt, body['images']) }];
    return {
        kind: 'generate',
        request: openAiChat.read(readChatParams(body, messages, options)).request,
        options,
        // Without pictures: they would be much larger than what they are for.
        last: (content) => ({ context: packContext([...talk, { role: 'user', content: prompt }, { role: 'assistant', content }]) }),
    };
}

/** A prompt that is continued as it is, without the turns of a conversation around it. */
function askedRaw(prompt: string, body: JsonObject, options: OllamaOptions): Asked {
    const format = readFormat(body['format']);
    const { logprobs, top_logprobs: top } = body;
    const likely = logprobs === true ? { logprobs: typeof top === 'number' ? top : 0 } : {};
    const params = { ...options.sampling, ...likely, prompt, ...(format ? { response_format: format } : {}) };
    return { kind: 'generate', request: checkCompletion(params).generate, options };
}

async function tell(
    c: Context,
    service: Service,
    entry: CatalogueEntry,
    body: Body,
    { keepAlive, stream, ignored, context }: Looked,
    read: (body: JsonObject) => Asked,
): Promise<Response> {
    const started = performance.now();
    const head = () => ({ model: entry.id, created_at: new Date().toISOString() });
    const wanted = { entry, stream, keepAlive, headers: () => ignoredHeader(ignored) };
    return await respond(c, service, wanted, lines, ({ engine, loadMs }) => {
        if (context > engine.info.contextLength) ignored.push('num_ctx');
        const { kind, request, last } = read(body.object());
        const echo = { kind, top: request.logprobs };
        const pieces = ollamaPieces(echo);
        let written = '';
        const line = (object: JsonObject) => `${JSON.stringify({ ...head(), ...object })}\n`;
        const ended = (end: End) => ollamaEnd(end, { loadMs, totalMs: performance.now() - started });
        return {
            request,
            pieces: (event) => {
                if (last && event.type === 'content') written += event.text;
                const told = pieces(event).map((piece) => line({ ...piece, done: false }));
                if (event.type === 'end') told.push(line({ ...ollamaMembers(kind), ...ended(event), ...last?.(written) }));
                return told.join('');
            },
            whole: (answer) => ({ ...head(), ...wholeOllama(echo, answer), ...ended(answer.end), ...last?.(answer.content) }),
        };
    });
}

/** Without a question, Ollama's clients ask for the model to be loaded, or with `keep_alive: 0` to be let go. */
async function loadOnly(
    c: Context,
    service: Service,
    entry: CatalogueEntry,
    { keepAlive }: Looked,
    kind: OllamaKind,
): Promise<Response> {
    if (keepAlive === 0) await service.loaded.unload(entry.id);
    else await service.run(c, entry, keepAlive, async () => undefined);
    const done_reason = keepAlive === 0 ? 'unload' : 'load';
    const created_at = new Date().toISOString();
    return c.json({ model: entry.id, created_at, ...ollamaMembers(kind), done: true, done_reason });
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
