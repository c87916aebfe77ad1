// OpenAI's endpoints. The library speaks these shapes itself and checks the requests; here they meet HTTP.
import type {
    ChatCompletion,
    ChatCompletionChunk,
    Completion,
    CompletionParams,
    EmbeddingParams,
    JsonObject,
} from 'lapidary';
import { newHead, openAiChat, streamOf, type AnswerEvent } from 'lapidary/dialects';
import type { Bodies, Body } from './body.js';
import type { CatalogueEntry } from './catalogue.js';
import { customTools, streamWithCustomCalls, withCustomCalls } from './custom-tools.js';
import { embeddingHeaders } from './embeddings.js';
import { HttpError, badRequest, modelNotFound, openAiError } from './errors.js';
import type { Context, Routes } from './http.js';
import { ignoredHeader } from './ignored.js';
import type { Ready } from './loaded.js';
import { withDefaults } from './model-defaults.js';
import { readChat, readCompletion, readEmbedding, withSeed, type OpenAiRequest } from './openai-request.js';
import type { Service } from './service.js';
import { JoinedStream, joined, type Part } from './several.js';
import { eventStream, streamed, type OnReading, type StreamShape } from './streams.js';

const shape: StreamShape = { ...eventStream, tellError: (error) => event(openAiError(error)) };

function event(data: unknown): string {
    return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

export function addOpenAiRoutes(app: Routes, service: Service, bodies: Bodies): void {
    app.get('/v1/models', async (c) => {
        const entries = await service.catalogue.list();
        if (c.req.header('anthropic-version') === undefined) return c.json({ object: 'list', data: entries.map((entry) => describe(entry, service)) });
        const data = entries.map(describeModel);
        return c.json({ data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null });
    });
    app.get('/v1/models/:id{.+}', async (c) => {
        const entry = await service.catalogue.find(c.req.param('id'));
        if (!entry) throw modelNotFound(c.req.param('id'));
        return c.json(c.req.header('anthropic-version') === undefined ? describe(entry, service) : describeModel(entry));
    });
    app.post('/v1/chat/completions', async (c) => await chat(c, service, await bodies.read(c)));
    app.post('/v1/completions', async (c) => await complete(c, service, await bodies.read(c)));
    app.post('/v1/embeddings', async (c) => await embed(c, service, await bodies.read(c)));
    app.all('/v1/*', (c) => {
        throw new HttpError(404, `there is no ${c.req.method} ${c.req.path}`, { code: 'unknown_url' });
    });
}

/** How much a conversation may hold is known of a model in memory. */
function describe({ id, modified }: CatalogueEntry, { loaded }: Service) {
    const context = loaded.list().find(({ entry }) => entry.id === id)?.engine.info.contextLength;
    const told = { id, object: 'model', created: Math.floor(modified.getTime() / 1000), owned_by: 'lapidary' };
    return context === undefined ? told : { ...told, max_model_len: context };
}

/** The same as Anthropic's clients know it. */
function describeModel({ id, modified }: CatalogueEntry) {
    return { type: 'model', id, display_name: id, created_at: modified.toISOString() };
}

async function chat(c: Context, service: Service, body: Body): Promise<Response> {
    const { model: name, stream, n, ignored } = look(body, readChat);
    const entry = await service.find(name);
    const create: Create<ChatCompletion, ChatCompletionChunk> = (i, ready, signal, onReading) => {
        const object = body.object();
        const custom = customTools(object);
        const { request, echo } = openAiChat.read(withSeed(readChat(object).params, i));
        const asked = withDefaults(request, ready);
        const { engine } = ready;
        const head = newHead(openAiChat.prefix, engine.info);
        return async (streaming) => {
            if (!streaming) return withCustomCalls(openAiChat.whole(head, echo, await engine.generate(asked, { signal })), custom);
            const pieces = openAiChat.pieces(head, echo);
            const chunks = streamOf<ChatCompletionChunk>(async (push, stop) => {
                const onEvent = (event: AnswerEvent) => {
                    if (event.type === 'reading') onReading?.(event);
                    pieces(event).forEach(push);
                };
                await engine.generate(asked, { signal: stop, onEvent });
            }, signal);
            return streamWithCustomCalls(chunks, custom);
        };
    };
    return await respond(c, service, entry, { stream, answers: n, n, ignored }, create);
}

async function complete(c: Context, service: Service, body: Body): Promise<Response> {
    const { model, stream, n, answers, ignored } = look(body, readCompletion);
    const entry = await service.find(model);
    const create: Create<Completion, Completion> = (i, { engine }, signal, onReading) => {
        const { params, prompts: read } = readCompletion(body.object());
        const request = { ...withSeed(params, i % n), prompt: read[Math.floor(i / n)] } as unknown as CompletionParams;
        return (streaming) => engine.completions.create({ ...request, stream: streaming }, { signal, ...(onReading ? { onProgress: onReading } : {}) });
    };
    return await respond(c, service, entry, { stream, answers, n, ignored }, create);
}

/**
 * What has to be known of a request before its turn, and whether it is wrong. A function of its own, so that nothing of
 * what the body became outlives it: it is read again when its turn has come.
 */
function look(body: Body, read: (object: JsonObject) => OpenAiRequest) {
    const object = body.object();
    const { n, answers, ignored } = read(object);
    return { model: object['model'], stream: wantsStream(object), n, answers, ignored };
}

/** The answer of one number, whole or as a stream. The library checks the request; that is its job for callers in JavaScript too. */
type Create<Whole, Chunk> = (
    index: number,
    ready: Ready,
    signal: AbortSignal,
    onReading?: OnReading,
) => (stream: boolean) => Promise<Whole | AsyncIterable<Chunk>>;

interface Wanted {
    stream: boolean;
    answers: number;
    /** To each prompt. */
    n: number;
    ignored: string[];
}

async function respond<Whole extends Part, Chunk extends Part>(
    c: Context,
    service: Service,
    entry: CatalogueEntry,
    { stream, answers, n, ignored }: Wanted,
    create: Create<Whole, Chunk>,
): Promise<Response> {
    const headers = ignoredHeader(ignored);
    if (!stream) {
        const answer = await service.run(c, entry, undefined, async (ready, signal) => {
            const first = (await create(0, ready, signal)(false)) as Whole; // not a stream: none was asked for
            const all: [Whole, ...Whole[]] = [first];
            for (let i = 1; i < answers; i++) all.push((await create(i, ready, signal)(false)) as Whole);
            return answers === 1 ? first : joined(all, n);
        });
        return c.json({ ...answer, model: entry.id }, 200, headers);
    }
    return await streamed(
        c,
        shape,
        async (send, onReading) => {
            const tell = (chunk: object | undefined) => {
                if (chunk) send(event({ ...chunk, model: entry.id }));
            };
            await service.run(c, entry, undefined, async (ready, signal) => {
                const several = answers === 1 ? undefined : new JoinedStream(n);
                for (let i = 0; i < answers; i++) {
                    const chunks = (await create(i, ready, signal, onReading)(true)) as AsyncIterable<Chunk>;
                    for await (const chunk of chunks) tell(several ? several.chunk(chunk) : chunk);
                    several?.next();
                }
                tell(several?.end());
            });
            send(event('[DONE]'));
        },
        () => headers,
    );
}

async function embed(c: Context, service: Service, body: Body): Promise<Response> {
    const { model, ignored } = look(body, readEmbedding);
    const entry = await service.find(model);
    return await service.run(c, entry, undefined, async ({ engine }, signal) => {
        const params = readEmbedding(body.object()).params as unknown as EmbeddingParams;
        const { truncated_inputs: cut = 0, ...answer } = await engine.embeddings.create(params, { signal });
        const headers = { ...ignoredHeader(ignored), ...embeddingHeaders(engine.info, cut) };
        return c.json({ ...answer, model: entry.id }, 200, headers);
    });
}

function wantsStream(body: JsonObject): boolean {
    const stream = body['stream'] ?? false;
    if (typeof stream !== 'boolean') throw badRequest("'stream' must be true or false", 'stream');
    return stream;
}
