// The Range header: one range of bytes. More than one at a time nobody here asks for, and a server may ignore those.

export interface ByteRange {
    start: number;
    /** Exclusive. */
    end: number;
}

/** Undefined: send everything. 'unsatisfiable': nothing of it exists. */
export function parseRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
    const match = /^bytes=(\d{0,16})-(\d{0,16})$/i.exec(header?.replace(/\s+/g, '') ?? '');
    if (!match) return undefined;
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
