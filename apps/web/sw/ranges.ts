// A cache keeps whole files; a model is read by ranges. This answers one with a piece of the other.

interface Range {
    first: number;
    last: number;
}

/** "bytes=0-99" of a file of `size` bytes. Undefined: not a form we answer, send the whole file; null: outside it. */
export function parseRange(header: string, size: number): Range | undefined | null {
    const match = /^bytes=(\d*)-(\d*)$/.exec(header.trim());
    if (!match) return undefined;
    const [, from = '', to = ''] = match;
    if (from === '' && to === '') return undefined;
    if (from === '') {
        const length = Math.min(Number(to), size);
        return length === 0 ? null : { first: size - length, last: size - 1 };
    }
    const first = Number(from);
    const last = to === '' ? size - 1 : Math.min(Number(to), size - 1);
    if (to !== '' && Number(to) < first) return undefined;
    return first >= size ? null : { first, last };
}

export async function answerRange(whole: Response, header: string | null): Promise<Response> {
    if (header === null) return whole;
    const blob = await whole.blob();
    const range = parseRange(header, blob.size);
    if (range === undefined) return new Response(blob, { headers: whole.headers });
    if (range === null) {
        return new Response(null, { status: 416, headers: { 'content-range': `bytes */${blob.size}` } });
    }
    const { first, last } = range;
    const headers = new Headers({
        'content-type': whole.headers.get('content-type') ?? 'application/octet-stream',
        'content-length': String(last - first + 1),
        'content-range': `bytes ${first}-${last}/${blob.size}`,
        'accept-ranges': 'bytes',
    });
    const etag = whole.headers.get('etag');
    if (etag !== null) headers.set('etag', etag);
    return new Response(blob.slice(first, last + 1), { status: 206, headers });
}
