// OpenAI's endpoints. The library speaks these shapes itself and checks the requests; here they meet HTTP.
import type { ChatCompletionParams, CompletionParams, EmbeddingParams, JsonObject } from 'lapidary';
import type { Bodies } from './body.js';
import type { CatalogueEntry } from './catalogue.js';
import { HttpError, badRequest, modelNotFound, openAiError } from './errors.js';
import type { Context, Routes } from './http.js';
import { withModelDefaults } from './model-defaults.js';
import type { Service } from './service.js';
import { streamed, type StreamShape } from './streams.js';

const eventStream: StreamShape = {
    contentType: 'text/event-stream; charset=utf-8',
    tellError: (error) => event(openAiError(error)),
};

function event(data: unknown): string {
    return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

export function addOpenAiRoutes(app: Routes, service: Service, bodies: Bodies): void {
    app.get('/v1/models', async (c) => {
        const entries = await service.catalogue.list();
        return c.json({ object: 'list', data: entries.map(describe) });
    });
    app.get('/v1/models/:id{.+}', async (c) => {
        const entry = await service.catalogue.find(c.req.param('id'));
        if (!entry) throw modelNotFound(c.req.param('id'));
        return c.json(describe(entry));
    });
    app.post('/v1/chat/completions', async (c) => await chat(c, service, await bodies.object(c)));
    app.post('/v1/completions', async (c) => await complete(c, service, await bodies.object(c)));
    app.post('/v1/embeddings', async (c) => await embed(c, service, await bodies.object(c)));
    app.all('/v1/*', (c) => {
        throw new HttpError(404, `there is no ${c.req.method} ${c.req.path}`, { code: 'unknown_url' });
    });
}

function describe({ id, modified }: CatalogueEntry) {
    return { id, object: 'model', created: Math.floor(modified.getTime() / 1000), owned_by: 'lapidary' };
}

async function chat(c: Context, service: Service, body: JsonObject): Promise<Response> {
    const stream = wantsStream(body);
    const entry = await service.find(body['model']);
    if (!Array.isArray(body['messages'])) throw badRequest("'messages' must be a list of messages", 'messages');
    // The library checks every member; that is its job for callers in JavaScript too.
    const request = body as unknown as ChatCompletionParams;
    if (!stream) {
        const answer = await service.run(c, entry, undefined, ({ engine, ...model }, signal) =>
            engine.chat.completions.create({ ...withModelDefaults(request, model), stream: false }, { signal }),
        );
        return c.json({ ...answer, model: entry.id });
    }
    return await streamed(eventStream, async (send) => {
        await service.run(c, entry, undefined, async ({ engine, ...model }, signal) => {
            const params = { ...withModelDefaults(request, model), stream: true } as const;
            for await (const chunk of await engine.chat.completions.create(params, { signal })) {
                send(event({ ...chunk, model: entry.id }));
            }
        });
        send(event('[DONE]'));
    });
}

async function complete(c: Context, service: Service, body: JsonObject): Promise<Response> {
    const stream = wantsStream(body);
    const entry = await service.find(body['model']);
    const request = body as unknown as CompletionParams;
    if (!stream) {
        const answer = await service.run(c, entry, undefined, ({ engine }, signal) =>
            engine.completions.create({ ...request, stream: false }, { signal }),
        );
        return c.json({ ...answer, model: entry.id });
    }
    return await streamed(eventStream, async (send) => {
        await service.run(c, entry, undefined, async ({ engine }, signal) => {
            for await (const chunk of await engine.completions.create({ ...request, stream: true }, { signal })) {
                send(event({ ...chunk, model: entry.id }));
            }
        });
        send(event('[DONE]'));
    });
}

async function embed(c: Context, service: Service, body: JsonObject): Promise<Response> {
    const entry = await service.find(body['model']);
    if (body['dimensions'] !== undefined && body['dimensions'] !== null) {
        throw badRequest("'dimensions' is not supported: embeddings have as many as the model is wide", 'dimensions');
    }
    const answer = await service.run(c, entry, undefined, ({ engine }, signal) =>
        engine.embeddings.create(body as unknown as EmbeddingParams, { signal }),
    );
    return c.json({ ...answer, model: entry.id });
}

function wantsStream(body: JsonObject): boolean {
    const stream = body['stream'] ?? false;
    if (typeof stream !== 'boolean') throw badRequest("'stream' must be true or false", 'stream');
    return stream;
}
