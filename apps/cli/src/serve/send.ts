// Sending bytes that lie somewhere: whole, in part, or not at all when the client has them already.
import type { ByteSource } from 'lapidary';
import { contentRange, parseRange } from 'lapidary/net';
import type { Context } from './http.js';

const pieceSize = 1024 * 1024;

export interface SendOptions {
    contentType: string;
    cacheControl: string;
    /** With its quotes. */
    etag: string;
}

/** Takes the source over and closes it. */
export async function sendSource(c: Context, source: ByteSource, options: SendOptions): Promise<Response> {
    const headers = new Headers({
        'accept-ranges': 'bytes',
        'cache-control': options.cacheControl,
        'content-type': options.contentType,
        etag: options.etag,
    });
    const without = async (status: number): Promise<Response> => {
        await source.close();
        return new Response(null, { status, headers });
    };
    if (matches(c.req.header('if-none-match'), options.etag)) return await without(304);

    const ifRange = c.req.header('if-range');
    const unchanged = ifRange === undefined || ifRange === options.etag;
    const range = unchanged ? parseRange(c.req.header('range'), source.size) : undefined;
    if (range === 'unsatisfiable') {
        headers.set('content-range', contentRange(undefined, source.size));
        headers.delete('content-type');
        return await without(416);
    }
    const { start, end } = range ?? { start: 0, end: source.size };
    if (range) headers.set('content-range', contentRange(range, source.size));
    headers.set('content-length', String(end - start));
    const status = range ? 206 : 200;
    if (c.req.method === 'HEAD') return await without(status);
    return new Response(streamOf(source, start, end), { status, headers });
}

/** Read as fast as the client takes it, and closed when it is done or gone. */
function streamOf(source: ByteSource, start: number, end: number): ReadableStream<Uint8Array> {
    let offset = start;
    return new ReadableStream<Uint8Array>(
        {
            async pull(controller) {
                const length = Math.min(pieceSize, end - offset);
                if (length > 0) {
                    try {
                        controller.enqueue(await source.read(offset, length));
                    } catch (error) {
                        await source.close().catch(() => undefined);
                        throw error; // cuts the connection: the client must not take this for the end
                    }
                    offset += length;
                }
                if (offset < end) return;
                await source.close();
                controller.close();
            },
            cancel: () => source.close(),
        },
        { highWaterMark: 0 },
    );
}

/** The tag of a file that changes whenever the file does. */
export function versionTag(size: number, modifiedMs: number, variant = ''): string {
    return `"${size.toString(36)}-${Math.floor(modifiedMs).toString(36)}${variant}"`;
}

function matches(ifNoneMatch: string | undefined, etag: string): boolean {
    if (ifNoneMatch === undefined) return false;
    if (ifNoneMatch.trim() === '*') return true;
    const plain = (tag: string) => tag.trim().replace(/^W\//, '');
    return ifNoneMatch.split(',').some((tag) => plain(tag) === plain(etag));
}
