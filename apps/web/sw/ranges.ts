// A cache keeps whole files; a model is read by ranges. This answers one with a piece of the other.

import { contentRange, parseRange } from 'lapidary/net';

export async function answerRange(whole: Response, header: string | null): Promise<Response> {
    if (header === null) return whole;
    const blob = await whole.blob();
    const range = parseRange(header, blob.size);
    if (range === undefined) return new Response(blob, { headers: whole.headers });
    if (range === 'unsatisfiable') {
        return new Response(null, { status: 416, headers: { 'content-range': contentRange(undefined, blob.size) } });
    }
    const { start, end } = range;
    const headers = new Headers({
        'content-type': whole.headers.get('content-type') ?? 'application/octet-stream',
        'content-length': String(end - start),
        'content-range': contentRange(range, blob.size),
        'accept-ranges': 'bytes',
    });
    const etag = whole.headers.get('etag');
    if (etag !== null) headers.set('etag', etag);
    return new Response(blob.slice(start, end), { status: 206, headers });
}
