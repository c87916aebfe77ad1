// OpenAI's responses: POST /v1/responses, and what is remembered of them.
import type { JsonObject } from 'lapidary';
import { ResponseWords, eventsOf, newHead, newId, readResponses, responsesPrefix, type Memory, type ResponseEvent } from 'lapidary/dialects';
import type { Bodies, Body } from './body.js';
import { HttpError, badRequest, openAiError } from './errors.js';
import type { Context, Routes } from './http.js';
import { ignoredHeader } from './ignored.js';
import { respond } from './respond.js';
import { ResponseStore } from './response-store.js';
import type { Service } from './service.js';
import { eventStream } from './streams.js';

export function addResponseRoutes(app: Routes, service: Service, bodies: Bodies): void {
    const store = new ResponseStore();
    const stored = (c: Context) => store.get(idOf(c)) ?? notFound(idOf(c));
    app.post('/v1/responses', async (c) => await create(c, service, store, await bodies.read(c)));
    app.post('/v1/responses/input_tokens', async (c) => {
        const body = await bodies.read(c);
        const { entry } = await look(service, store, body);
        const input_tokens = await service.run(c, entry, undefined, async ({ engine }) => {
            const { request } = readResponses(body.object(), memoryOf(store));
            return await engine.countTokens(request);
        });
        return c.json({ object: 'response.input_tokens', input_tokens });
    });
    app.get('/v1/responses/:id', (c) => {
        if (c.req.query('stream') === 'true') throw badRequest('a response that is stored is not streamed again', 'stream');
        return Response.json(stored(c).response);
    });
    app.get('/v1/responses/:id/input_items', (c) => {
        const data: object[] = stored(c).items.map((item, i) => ({ id: `${idOf(c)}_${i}`, ...item }));
        if (c.req.query('order') !== 'asc') data.reverse();
        const named = (item: object | undefined) => (item as JsonObject | undefined)?.['id'] ?? null;
        const list: object = { object: 'list', data, first_id: named(data[0]), last_id: named(data.at(-1)), has_more: false };
        return Response.json(list);
    });
    app.delete('/v1/responses/:id', (c) => {
        if (!store.remove(idOf(c))) notFound(idOf(c));
        return c.json({ id: idOf(c), object: 'response.deleted', deleted: true });
    });
    app.post('/v1/responses/:id/cancel', (c) => {
        if (store.cancel(idOf(c))) return Response.json({ id: idOf(c), object: 'response', status: 'cancelled' });
        return Response.json(stored(c).response); // it has ended by itself
    });
}

function idOf(c: Context): string {
    return c.req.param('id') ?? '';
}

function notFound(id: string): never {
    const code = 'response_not_found';
    throw new HttpError(404, `Response with id '${id.slice(0, 100)}' not found: it was not stored here, or not for so long`, { code });
}

function memoryOf(store: ResponseStore): Memory {
    return {
        before: (id) => {
            const { items, response } = store.get(id) ?? notFound(id);
            return [...items, ...(response['output'] as JsonObject[])];
        },
        item: (id) => store.item(id),
    };
}

/** As `look` for chats: nothing of what the body became outlives it. */
async function look(service: Service, store: ResponseStore, body: Body) {
    const object = body.object();
    const { stream, echo } = readResponses(object, memoryOf(store));
    return { entry: await service.find(object['model']), stream, ignored: echo.ignored };
}

function frame(event: ResponseEvent): string {
    return `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`;
}

async function create(c: Context, service: Service, store: ResponseStore, body: Body): Promise<Response> {
    const { entry, stream, ignored } = await look(service, store, body);
    const id = newId(responsesPrefix);
    const { signal: stop } = store.begin(id);
    let words: ResponseWords | undefined;
    const failed = (error: HttpError): string => {
        const { error: told } = openAiError(error);
        const events = words?.failed(told.code ?? told.type, told.message) ?? [{ ...told, type: 'error', sequence_number: 0 }];
        return events.map(frame).join('');
    };
    const ended = () => store.end(id);
    c.env.outgoing.once('close', ended);
    const wanted = { entry, stream, stop, headers: () => ignoredHeader(ignored) };
    return await respond(c, service, wanted, { ...eventStream, tellError: failed }, ({ engine }) => {
        const object = body.object();
        const { request, echo } = readResponses(object, memoryOf(store));
        const { previous_response_id: previous } = echo.settings;
        const before = typeof previous === 'string' ? memoryOf(store).before(previous).length : 0;
        const writing = new ResponseWords({ ...newHead(responsesPrefix, engine.info), id, model: entry.id }, echo);
        words = writing;
        return {
            request,
            pieces: (event) => writing.pieces(event).map(frame).join(''),
            whole: (answer) => {
                if (!stream) for (const event of eventsOf(answer)) writing.pieces(event);
                const response = writing.response(answer.end);
                if (echo.store) store.add({ response, items: echo.items }, echo.items.length - before);
                return response;
            },
        };
    });
}
