// Answers that are sent while they are written.
import { asHttpError, type HttpError } from './errors.js';

export interface StreamShape {
    contentType: string;
    /** How an error is told when the status has been sent already. */
    tellError(error: HttpError): string;
}

/**
 * The response begins with the first piece, so that an error before it still has its proper status. What is written is
 * kept until the client takes it: a slow reader must not hold up those who wait for the engine.
 */
export async function streamed(
    shape: StreamShape,
    work: (send: (text: string) => void) => Promise<void>,
    headers: () => Record<string, string> = () => ({}),
): Promise<Response> {
    const encoder = new TextEncoder();
    let open = true;
    let begun: (() => void) | undefined;
    const first = new Promise<void>((resolve) => (begun = resolve));
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
        start: (started) => {
            controller = started;
        },
        cancel: () => {
            open = false; // the client left; the work is stopped by its own signal
        },
    });
    let sent = false;
    const send = (text: string) => {
        if (!open) return;
        sent = true;
        controller?.enqueue(encoder.encode(text));
        begun?.();
    };
    const done = work(send)
        .catch((error: unknown) => {
            if (!sent) throw error;
            send(shape.tellError(asHttpError(error)));
        })
        .then(() => {
            if (open) controller?.close();
            open = false;
        });
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
