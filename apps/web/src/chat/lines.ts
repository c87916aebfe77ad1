// Text streams of remote programs, cut into lines and server-sent events.

// No honest line is longer; an endless one must not fill the memory.
const longestLine = 16 * 1024 * 1024;

export async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    try {
        for (;;) {
            const { done, value } = await reader.read();
            rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
            const lines = rest.split('\n');
            rest = lines.pop() ?? '';
            for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
            if (done) break;
            if (rest.length > longestLine) throw new Error('the server sent a line without end');
        }
        if (rest !== '') yield rest;
    } finally {
        // Tells the server that nobody listens any more.
        reader.cancel().catch(() => undefined);
    }
}

/** The `data` of each server-sent event. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
    let data: string[] = [];
    for await (const line of readLines(body)) {
        if (line === '') {
            if (data.length > 0) yield data.join('\n');
            data = [];
        } else if (line.startsWith('data:')) {
            data.push(line.slice(line[5] === ' ' ? 6 : 5));
        }
    }
    if (data.length > 0) yield data.join('\n');
}
