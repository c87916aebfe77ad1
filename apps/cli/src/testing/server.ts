// A server for tests: on any free port, gone when the test is over.
import http from 'node:http';
import net from 'node:net';
import type { TestContext } from 'node:test';
import {
    cancelledError,
    type ByteSource,
    type GenerateRequest,
    type LoadedEngine,
} from 'lapidary';
import type { AnswerEvent, End, Ended } from 'lapidary/dialects';
import type { Load } from '../serve/loaded.js';
import { startServer, type RunningServer, type ServeOptions } from '../serve/server.js';

// No store of the person who runs the tests.
process.env['OLLAMA_MODELS'] ??= '/nonexistent';

export interface TestServer extends RunningServer {
    logged: string[];
}

export async function testServer(
    t: Pick<TestContext, 'after'>,
    options: Partial<ServeOptions> = {},
): Promise<TestServer> {
    const logged: string[] = [];
    const server = await startServer({
        host: '127.0.0.1',
        port: 0,
        queue: 256,
        models: 1,
        load: { backend: 'cpu' },
        webRoot: '/nonexistent',
        version: '1.2.3',
        log: (text) => logged.push(text),
        ...options,
    });
    t.after(() => server.stop(0));
    return { ...server, logged };
}

export interface RawAnswer {
    status: number;
    headers: http.IncomingHttpHeaders;
    body: string;
}

/** A request exactly as given: fetch would repair paths and refuse to set some headers. */
export function raw(url: string, options: http.RequestOptions & { body?: string | Buffer } = {}): Promise<RawAnswer> {
    const { hostname, port, pathname, search } = new URL(url);
    return new Promise((resolve, reject) => {
        const request = http.request(
            { host: hostname, port, path: pathname + search, agent: false, ...options },
            (response) => {
                let body = '';
                response.setEncoding('utf8');
                response.on('data', (piece: string) => (body += piece));
                const { statusCode: status = 0, headers } = response;
                response.on('end', () => resolve({ status, headers, body }));
                response.on('error', reject);
            },
        );
        request.on('error', reject);
        request.end(options.body);
    });
}

/** Bytes to the socket and whatever comes back until it closes. */
export function rawSocket(port: number, text: string): Promise<string> {
    return new Promise((resolve, reject) => {
        let answer = '';
        const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
        socket.setEncoding('utf8');
        socket.on('data', (piece: string) => (answer += piece));
        socket.on('close', () => resolve(answer));
        socket.on('error', reject);
    });
}

interface AnswerOptions {
    signal?: AbortSignal | undefined;
    onEvent?: ((event: AnswerEvent) => void) | undefined;
}

/** An engine that repeats the last message word by word, as slowly as it is told to. */
export class EchoEngine {
    running = 0;
    /** The most answers that were ever written at the same time. */
    mostRunning = 0;
    stopped = 0;
    disposed = false;
    private sources: readonly ByteSource[] = [];

    constructor(
        readonly model: string,
        private readonly pauseMs: number,
    ) {}

    readonly load: Load = async (sources) => {
        this.sources = sources as ByteSource[]; // the server gives nothing else
        return this.asLoaded();
    };

    asLoaded(): LoadedEngine {
        const engine = {
            generate: async (request: GenerateRequest, options: AnswerOptions) => await this.generate(request, options),
            info: { model: this.model, backend: 'cpu', contextLength: 100, weightBytes: 5 },
            dispose: async () => {
                this.disposed = true;
                for (const source of this.sources) await source.close();
            },
        };
        return engine as unknown as LoadedEngine; // as much of one as the server uses in these tests
    }

    private async generate({ messages }: GenerateRequest, { signal, onEvent }: AnswerOptions): Promise<Ended> {
        this.mostRunning = Math.max(this.mostRunning, ++this.running);
        const content = String(messages?.at(-1)?.['content']);
        try {
            for (const text of content.split(/(?<= )/)) {
                await new Promise((resolve) => setTimeout(resolve, this.pauseMs));
                if (signal?.aborted) {
                    this.stopped++;
                    throw cancelledError();
                }
                onEvent?.({ type: 'content', text });
            }
            return ended({ content }, 'stop', onEvent);
        } finally {
            this.running--;
        }
    }
}

function ended(said: Partial<Ended>, finish: End['finish'], onEvent: AnswerOptions['onEvent']): Ended {
    const usage = { prompt: 1, cached: 0, completion: 1 };
    const times = { prompt_ms: 0, completion_ms: 0, tokens_per_second: 0, time_to_first_token_ms: 0 };
    const end: End = { type: 'end', finish, usage, times };
    onEvent?.(end);
    return { content: '', reasoning: '', calls: [], invalid: [], logprobs: [], ...said, end };
}

/** An engine whose every answer is a call of a tool. */
export const withToolCalls: Load = async (sources) => {
    const engine = {
        generate: async (_: GenerateRequest, { onEvent }: AnswerOptions): Promise<Ended> => {
            const call = { id: 'call_7', name: 'weather', arguments: '{"city":"Oslo"}' };
            onEvent?.({ type: 'call', index: 0, ...call });
            return ended({ calls: [call] }, 'tool_calls', onEvent);
        },
        info: { model: 'x', backend: 'cpu', contextLength: 100, weightBytes: 5 },
        dispose: async () => {
            for (const source of sources as ByteSource[]) await source.close();
        },
    };
    return engine as unknown as LoadedEngine; // as much of one as the server uses in these tests
};

/** Whether the engine constrains its answers: one that does refuses a schema that is none. */
export async function keepsToSchemas(url: string): Promise<boolean> {
    const schema = { type: 'nonsense' };
    const body = {
        messages: [{ role: 'user', content: 'Hello' }],
        max_tokens: 1,
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    };
    return (await raw(`${url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) })).status === 400;
}

export async function canEmbed(url: string): Promise<boolean> {
    const { body } = await raw(`${url}/v1/embeddings`, { method: 'POST', body: '{"input":"x"}' });
    return !body.includes('there is no method');
}
