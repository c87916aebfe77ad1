// The types that Hono needs, and what every route wants to know about the client.
import type { HttpBindings } from '@hono/node-server';
import type { Context as HonoContext, Hono } from 'hono';

export interface Env {
    Bindings: HttpBindings;
}
export type Context = HonoContext<Env>;
export type Routes = Hono<Env>;

/** Aborted when the client leaves before it has its answer. */
export function clientGone(c: Context): AbortSignal {
    const { outgoing } = c.env;
    const controller = new AbortController();
    const notice = () => {
        if (!outgoing.writableFinished) controller.abort();
    };
    if (outgoing.destroyed) notice();
    else outgoing.once('close', notice);
    return controller.signal;
}

const names = ['origin', 'user-agent', 'authorization', 'x-title', 'http-referer', 'openai-project'];

/**
 * Who shares a line in the queue. On one computer all have the same address, so programs are told apart by what they
 * call themselves, and those that use the same library by their keys or titles. It is about fairness, not about safety.
 */
export function clientName(c: Context): string {
    const address = c.env.incoming.socket.remoteAddress ?? '';
    const header = (name: string) => (c.req.header(name) ?? '').slice(0, 200);
    return [address, ...names.map(header)].join('\n');
}

/**
 * Runs `work` with a signal that follows all the given ones. AbortSignal.any would do, but Node 18 has none, and a
 * signal that lives as long as the server must not collect a listener for every request.
 */
export async function withEitherSignal<Result>(
    signals: readonly AbortSignal[],
    work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
    const controller = new AbortController();
    const abort = () => controller.abort();
    for (const signal of signals) {
        if (signal.aborted) abort();
        signal.addEventListener('abort', abort);
    }
    try {
        return await work(controller.signal);
    } finally {
        for (const signal of signals) signal.removeEventListener('abort', abort);
    }
}
