// One line a request, for the person who watches the terminal.
import type { MiddlewareHandler } from 'hono';
import type { Env } from './http.js';
import { safeFor, type Stream } from '../terminal.js';

/** The line is written when the answer is complete or the client is gone. */
export function accessLog(stream: Stream): MiddlewareHandler<Env> {
    return async (c, next) => {
        const started = performance.now();
        const { incoming, outgoing } = c.env;
        outgoing.once('close', () => {
            const seconds = ((performance.now() - started) / 1000).toFixed(3);
            const status = outgoing.writableFinished ? String(outgoing.statusCode) : 'left';
            const time = new Date().toTimeString().slice(0, 8);
            const from = incoming.socket.remoteAddress ?? '-';
            // Control characters in a path are somebody's joke.
            const path = c.req.path.slice(0, 200).replace(/[\u0000-\u001f\u007f-\u009f]/g, '?');
            stream.write(`${safeFor(stream, `${time} ${status} ${c.req.method} ${path} ${seconds} s ${from}`)}\n`);
        });
        await next();
    };
}
