// What the stand-ins for Hugging Face and for Ollama's registry have in common: two servers, one that knows and one that
// has the bytes, as it is there; both as unreliable as a test wants them, with a log of what they were asked.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LoggedCall {
    /** Which of the two. */
    server: 'front' | 'bytes';
    method: string;
    /** With its query. */
    path: string;
    range: string | undefined;
    authorization: string | undefined;
}

/** Each counts down: what is at 0 does not happen any more. */
export interface Faults {
    /** So many answers are cut off after so many bytes. */
    cut: { answers: number; after: number };
    /** So many requests are answered 429, with this Retry-After. */
    busy: { answers: number; retryAfter: string };
    /** So many answers have a wrong byte at this place of the file. */
    wrong: { answers: number; at: number };
    /** No byte from here on is sent before it is set higher. */
    stallAt: number;
}

/** What a page of another origin is let see, as the real ones do. */
const cors = {
    'access-control-allow-origin': '*',
    'access-control-allow-headers': 'range, authorization, accept',
    'access-control-expose-headers': 'X-Repo-Commit, X-Error-Code, ETag, Link, Accept-Ranges, Content-Range, X-Linked-Size, X-Linked-ETag',
};
const pieceBytes = 256 * 1024;

export abstract class SourceServer {
    readonly log: LoggedCall[] = [];
    readonly faults: Faults = {
        cut: { answers: 0, after: 0 },
        busy: { answers: 0, retryAfter: '0' },
        wrong: { answers: 0, at: 0 },
        stallAt: Infinity,
    };
    /** By digest. */
    private readonly blobs = new Map<string, Uint8Array>();
    private readonly front = createServer((request, response) => this.receive('front', request, response));
    private readonly bytes = createServer((request, response) => this.receive('bytes', request, response));

    protected abstract answer(request: IncomingMessage, response: ServerResponse, url: URL): void;

    protected async listen(): Promise<void> {
        for (const server of [this.front, this.bytes]) {
            await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        }
    }

    /** The one that knows: what goes into an endpoint. */
    get endpoint(): string {
        return originOf(this.front);
    }

    /** The one that has the bytes. */
    get bytesOrigin(): string {
        return originOf(this.bytes);
    }

    asked(server: LoggedCall['server'], path: RegExp = /^/): LoggedCall[] {
        return this.log.filter((call) => call.server === server && path.test(call.path));
    }

    async stop(): Promise<void> {
        for (const server of [this.front, this.bytes]) {
            server.closeAllConnections();
            await new Promise((resolve) => server.close(resolve));
        }
    }

    /** The digest under which the bytes can be had from now on. */
    protected store(bytes: Uint8Array): string {
        const digest = createHash('sha256').update(bytes).digest('hex');
        this.blobs.set(digest, bytes);
        return digest;
    }

    protected json(response: ServerResponse, value: unknown, status = 200, headers: Record<string, string> = {}): void {
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    }

    /** To where the bytes are, with a signature as the real ones have it. */
    protected redirect(response: ServerResponse, digest: string, headers: Record<string, string> = {}): void {
        response.writeHead(302, { location: `${this.bytesOrigin}/blobs/${digest}?signature=secret`, ...headers }).end();
    }

    private receive(server: LoggedCall['server'], request: IncomingMessage, response: ServerResponse): void {
        const { method = 'GET', url: path = '/', headers } = request;
        for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
        if (method === 'OPTIONS') return void response.writeHead(204).end();
        this.log.push({ server, method, path, range: headers.range, authorization: headers.authorization });
        const { busy } = this.faults;
        if (busy.answers > 0) {
            busy.answers--;
            return void response.writeHead(429, { 'retry-after': busy.retryAfter }).end();
        }
        const url = new URL(path, 'http://server');
        if (server === 'front') this.answer(request, response, url);
        else this.sendBlob(request, response, url).catch(() => response.destroy());
    }

    private async sendBlob(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
        const digest = /^\/blobs\/([0-9a-f]{64})$/.exec(url.pathname)?.[1] ?? '';
        const stored = this.blobs.get(digest);
        if (!stored || url.searchParams.get('signature') !== 'secret') return void response.writeHead(403).end();
        const ifRange = request.headers['if-range'];
        const range = ifRange === undefined || ifRange === `"${digest}"` ? request.headers.range : undefined;
        const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [undefined, '0', `${stored.length - 1}`];
        const [first, last] = [Number(from), Math.min(Number(to), stored.length - 1)];
        if (!(first <= last)) return void response.writeHead(416, { 'content-range': `bytes */${stored.length}` }).end();
        const { cut, wrong } = this.faults;
        let bytes = stored;
        // The few bytes that are asked for first, to see what is there, are always right: a test is about what follows.
        const glance = last - first < 16;
        if (!glance && wrong.answers > 0 && first <= wrong.at && wrong.at <= last) {
            wrong.answers--;
            bytes = stored.slice();
            bytes[wrong.at] = (bytes[wrong.at] ?? 0) ^ 1;
        }
        let end = last + 1;
        if (!glance && cut.answers > 0) {
            cut.answers--;
            end = Math.min(end, first + cut.after);
        }
        response.writeHead(range ? 206 : 200, {
            'content-length': last - first + 1,
            'accept-ranges': 'bytes',
            etag: `"${digest}"`,
            ...(range ? { 'content-range': `bytes ${first}-${last}/${stored.length}` } : {}),
        });
        for (let at = first; at < end && !response.destroyed; ) {
            if (at >= this.faults.stallAt) {
                await new Promise((resolve) => setTimeout(resolve, 5));
                continue;
            }
            const stop = Math.min(end, at + pieceBytes, this.faults.stallAt);
            await new Promise<void>((resolve) => response.write(bytes.subarray(at, stop), () => resolve()));
            at = stop;
        }
        if (end <= last) response.destroy();
        else response.end();
    }
}

function originOf(server: Server): string {
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
