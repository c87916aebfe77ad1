// A web server for browser tests: the built library as plain modules, and one file under any name below /m/, by
// ranges, as slowly as is wanted and with a log of what was asked for.
import { promises as fs } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export interface LoggedRequest {
    name: string;
    first: number;
    last: number;
}

const dist = fileURLToPath(new URL('..', import.meta.url));
const pieceBytes = 256 * 1024;

export class RangeServer {
    /** Requests for more than the two bytes that ask for the size. */
    readonly log: LoggedRequest[] = [];
    /** No byte from here on is sent before it is set higher. */
    stallAt = Infinity;
    /** After every quarter of a MiB. */
    pauseMs = 0;

    private constructor(
        private readonly server: Server,
        private readonly pages: Readonly<Record<string, string>>,
        public bytes: Uint8Array,
    ) {}

    /** `pages` are served as they are, by their paths. */
    static async start(bytes: Uint8Array, pages: Readonly<Record<string, string>>): Promise<RangeServer> {
        const server = createServer();
        const made = new RangeServer(server, pages, bytes);
        server.on('request', (request, response) => {
            made.answer(request, response).catch(() => response.destroy());
        });
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        return made;
    }

    get origin(): string {
        return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    }

    asked(name: string): LoggedRequest[] {
        return this.log.filter((request) => request.name === name);
    }

    async stop(): Promise<void> {
        this.server.closeAllConnections();
        await new Promise((resolve) => this.server.close(resolve));
    }

    private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
        const { pathname } = new URL(request.url ?? '/', this.origin);
        const page = this.pages[pathname];
        if (page !== undefined) return send(response, page, pathname.endsWith('.js'));
        if (pathname.startsWith('/m/')) return await this.sendRange(pathname.slice(3), request, response);
        const module = /^\/dist\/((?:[\w-]+\/)*[\w-]+\.js)$/.exec(pathname)?.[1];
        if (module === undefined) return void response.writeHead(404).end();
        send(response, await fs.readFile(path.join(dist, module), 'utf8'), true);
    }

    private async sendRange(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
        const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
        const first = Number(from);
        const last = Math.min(Number(to), this.bytes.length - 1);
        if (!(first <= last)) return void response.writeHead(416).end();
        if (last > 1) this.log.push({ name, first, last });
        response.writeHead(206, {
            'content-range': `bytes ${first}-${last}/${this.bytes.length}`,
            'content-length': last - first + 1,
            etag: '"1"',
        });
        for (let at = first; at <= last && !response.destroyed; ) {
            if (at >= this.stallAt) {
                await sleep(20);
                continue;
            }
            const end = Math.min(last + 1, at + pieceBytes, this.stallAt);
            if (!response.write(this.bytes.subarray(at, end))) await drained(response);
            at = end;
            if (this.pauseMs > 0) await sleep(this.pauseMs);
        }
        response.end();
    }
}

function send(response: ServerResponse, text: string, script: boolean): void {
    response.writeHead(200, { 'content-type': script ? 'text/javascript' : 'text/html' }).end(text);
}

function sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function drained(response: ServerResponse): Promise<void> {
    return new Promise((resolve) => {
        const finish = () => {
            response.off('drain', finish).off('close', finish);
            resolve();
        };
        response.on('drain', finish).on('close', finish);
    });
}
