// Anthropic's messages: POST /v1/messages, and how many tokens one would be.
import { messagePieces, messagesPrefix, newHead, readMessages, wholeMessage, type MessageEvent } from 'lapidary/dialects';
import type { Bodies } from './body.js';
import { anthropicError, type HttpError } from './errors.js';
import type { Routes } from './http.js';
import { ignoredHeader } from './ignored.js';
import { respond } from './respond.js';
import type { Service } from './service.js';
import { eventStream } from './streams.js';

const shape = {
    ...eventStream,
    tellError: (error: HttpError) => frame(anthropicError(error)),
    alive: () => 'event: ping\ndata: {"type": "ping"}\n\n',
};

export function addMessageRoutes(app: Routes, service: Service, bodies: Bodies): void {
    app.post('/v1/messages', async (c) => {
        const body = await bodies.read(c);
        // As for chats: nothing of what the body became outlives this.
        const { model, stream, ignored } = (() => {
            const object = body.object();
            const asked = readMessages(object);
            return { model: object['model'], stream: asked.stream, ignored: asked.echo.ignored };
        })();
        const entry = await service.find(model);
        return await respond(c, service, { entry, stream, headers: () => ignoredHeader(ignored) }, shape, ({ engine }) => {
            const { request, echo } = readMessages(body.object());
            const head = { ...newHead(messagesPrefix, engine.info), model: entry.id };
            const pieces = messagePieces(head, echo);
            return {
                request,
                pieces: (event) => pieces(event).map(frame).join(''),
                whole: (answer) => wholeMessage(head, echo, answer),
            };
        });
    });
    app.post('/v1/messages/count_tokens', async (c) => {
        const body = await bodies.read(c);
        readMessages(body.object());
        const entry = await service.find(body.object()['model']);
        const input_tokens = await service.run(
            c,
            entry,
            undefined,
            async ({ engine }, signal) => await engine.countTokens(readMessages(body.object()).request, { signal }),
        );
        return c.json({ input_tokens });
    });
}

function frame(event: MessageEvent): string {
    return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
