// `lapidary/net`: the headers Range and Content-Range, both ways.

export interface ByteRange {
    start: number;
    /** Exclusive. */
    end: number;
}

/** What of a file of `size` bytes a Range asks for. Undefined: send everything. 'unsatisfiable': nothing of it exists. */
export function parseRange(header: string | null | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
    const match = /^bytes=(\d{0,16})-(\d{0,16})$/i.exec(header?.replace(/\s+/g, '') ?? '');
    if (!match) return undefined; // more than one at a time nobody asks for, and they may be ignored
    const [first = '', last = ''] = match.slice(1);
    if (first === '' && last === '') return undefined;
    if (first === '') {
        const length = Math.min(Number(last), size);
        return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
    }
    const start = Number(first);
    if (last !== '' && Number(last) < start) return undefined; // not a range at all
    if (start >= size) return 'unsatisfiable';
    return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}

/** The Content-Range of an answer; without a range of one that cannot be given. */
export function contentRange(range: ByteRange | undefined, size: number): string {
    return range ? `bytes ${range.start}-${range.end - 1}/${size}` : `bytes */${size}`;
}

export interface ContentRange {
    first: number;
    last: number;
    total: number;
}

/** "bytes 0-99/1234"; null for anything else, also for an unknown total. */
export function parseContentRange(text: string | null): ContentRange | null {
    const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(text?.trim() ?? '');
    if (!match) return null;
    const [first = NaN, last = NaN, total = NaN] = match.slice(1).map(Number);
    const valid = Number.isSafeInteger(total) && first <= last && last < total;
    return valid ? { first, last, total } : null;
}
