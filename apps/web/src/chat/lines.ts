// Text streams of remote programs, cut into lines and server-sent events.
import { createParser } from 'eventsource-parser';

// No honest line is longer; an endless one must not fill the memory.
const longestLine = 16 * 1024 * 1024;

async function* texts(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    try {
        for (;;) {
            const { done, value } = await reader.read();
            yield done ? decoder.decode() : decoder.decode(value, { stream: true });
            if (done) return;
        }
    } finally {
        // Tells the server that nobody listens any more.
        reader.cancel().catch(() => undefined);
    }
}

export async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
    let rest = '';
    for await (const text of texts(body)) {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
        if (rest.length > longestLine) throw new Error('the server sent a line without end');
    }
    if (rest !== '') yield rest;
}

/** The `data` of each server-sent event. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
    const events: string[] = [];
    const parser = createParser({
        maxBufferSize: longestLine,
        onEvent: ({ data }) => void events.push(data),
        onError: (error) => {
            if (error.type === 'max-buffer-size-exceeded') throw new Error('the server sent a line without end');
        },
    });
    for await (const text of texts(body)) {
        parser.feed(text);
        yield* events.splice(0);
    }
    parser.feed('\n\n'); // some end without the empty line
    yield* events;
}
