// Answers that are sent while they are written.
import { HttpError, asHttpError } from './errors.js';
import type { Context } from './http.js';

export interface StreamShape {
    contentType: string;
    /** How an error is told when the status has been sent already. */
    tellError(error: HttpError): string;
    /** What clients pass over, and see that something will come. Without it they get the headers at least. */
    alive?(doing: string): string;
}

/** How much of the prompt has been read, in tokens. */
export type OnReading = (progress: { done: number; total: number }) => void;

/** A comment, which is nobody's. */
export const eventStream = { contentType: 'text/event-stream; charset=utf-8', alive: (doing: string) => `: ${doing}\n\n` };

/** What may wait for a reader who does not keep up: more than any context can fill. */
const mostUnread = 16 * 1024 * 1024;

export interface Silence {
    /** After this long the response begins, whatever becomes of it: clients wait five minutes for headers, and not longer. */
    firstMs: number;
    /** Later they are told so often that something will come. */
    everyMs: number;
    mostBytes: number;
}

const usualSilence: Silence = { firstMs: 2000, everyMs: 15_000, mostBytes: mostUnread };

/**
 * The response begins with the first piece, so that an error soon enough still has its proper status. What is written is
 * kept until the client takes it, because a slow reader must not hold up those who wait for the engine; one who lets too
 * much lie is cut off.
 */
export async function streamed(
    c: Context,
    shape: StreamShape,
    work: (send: (text: string) => void, onReading: OnReading) => Promise<void>,
    headers: () => Record<string, string> = () => ({}),
    { firstMs, everyMs, mostBytes }: Silence = usualSilence,
): Promise<Response> {
    const encoder = new TextEncoder();
    let open = true;
    let begun: (() => void) | undefined;
    const first = new Promise<void>((resolve) => (begun = resolve));
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>(
        {
            start: (started) => {
                controller = started;
            },
            cancel: () => {
                open = false; // the client left; the work is stopped by its own signal
            },
        },
        new ByteLengthQueuingStrategy({ highWaterMark: mostBytes }),
    );
    let sent = false;
    let doing = 'waiting';
    const onReading: OnReading = ({ done, total }) => {
        if (total > 0) doing = `reading ${Math.floor((done / total) * 100)} %`;
    };
    let wake: NodeJS.Timeout | undefined;
    const begin = () => {
        sent = true;
        begun?.();
        wake?.refresh();
    };
    const stayAlive = () => {
        if (!open) return;
        begin();
        if (shape.alive) controller?.enqueue(encoder.encode(shape.alive(doing)));
        wake = setTimeout(stayAlive, everyMs);
    };
    const send = (text: string) => {
        if (!open) return;
        begin();
        controller?.enqueue(encoder.encode(text));
        if ((controller?.desiredSize ?? 1) > 0) return;
        open = false;
        c.env.outgoing.destroy();
        throw new HttpError(503, 'the answer was not read'); // ends the work
    };
    wake = setTimeout(stayAlive, firstMs);
    const done = work(send, onReading)
        .catch((error: unknown) => {
            if (!sent) throw error;
            send(shape.tellError(asHttpError(error)));
        })
        .then(() => {
            if (open) controller?.close();
            open = false;
        })
        .finally(() => clearTimeout(wake));
    await Promise.race([first, done]);
    done.catch(() => undefined); // whoever waits for the first piece has heard of it
    return new Response(body, {
        headers: {
            'content-type': shape.contentType,
            'cache-control': 'no-store',
            // Proxies like to collect; then nothing would stream.
            'x-accel-buffering': 'no',
            ...headers(),
        },
    });
}
