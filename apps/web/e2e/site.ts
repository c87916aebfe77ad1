// The built site on a port of its own, by a host that knows nothing of it: what the page may do it says itself. And a
// stand-in for a remote model.
import { createReadStream, promises as fs } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { tinyModel, writeTinyModel } from './tiny-model.js';

// From apps/web/out/app/e2e, where the compiled test is.
export const repository = fileURLToPath(new URL('../../../../../', import.meta.url));
export const root = path.join(repository, 'apps/web/dist');

const types: Record<string, string> = {
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript',
    '.mjs': 'text/javascript',
    '.css': 'text/css',
    '.svg': 'image/svg+xml',
    '.wasm': 'application/wasm',
    '.webmanifest': 'application/manifest+json',
};

export class Site {
    /** What the remote model says next: the deltas of OpenAI's chunks. */
    remoteAnswers: object[][] = [];
    /** The remote model's file is asked for in vain. */
    silent = false;
    /** The built-in model stops coming after so many bytes, one at least. */
    stallAt = Infinity;
    private readonly stalled: (() => void)[] = [];
    /** Paths asked for, in order. */
    readonly asked: string[] = [];
    /** Made when it is first asked for. */
    private tiny: Promise<string> | undefined;

    private constructor(
        private readonly server: Server,
        readonly url: string,
    ) {}

    static async start(): Promise<Site> {
        const server = createServer();
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        const site = new Site(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
        server.on('request', (request, response) => {
            site.serve(request, response).catch(() => response.destroy());
        });
        return site;
    }

    stop(): void {
        this.server.closeAllConnections();
        this.server.close();
        void this.tiny?.then((file) => fs.rm(path.dirname(file), { recursive: true, force: true }));
    }

    /** What had stopped goes on. */
    goOn(): void {
        this.stallAt = Infinity;
        for (const goOn of this.stalled.splice(0)) goOn();
    }

    private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
        const { pathname } = new URL(request.url ?? '/', this.url);
        this.asked.push(pathname);
        if (pathname === '/v1/models') return this.listRemote(response);
        if (pathname === '/v1/chat/completions') return this.answer(response);
        if (pathname === '/api/ollama/models') return this.listOllama(response);
        if (this.silent && pathname.startsWith('/fixtures/')) return;
        // Asked for by browsers on their own, beside files that are no pages.
        if (pathname === '/favicon.ico') return void response.writeHead(204).end();
        const fixture = /^\/fixtures\/([\w-]+\.gguf)$/.exec(pathname)?.[1];
        const file = fixture
            ? await this.fixture(fixture)
            : path.join(root, pathname === '/' ? 'index.html' : path.normalize(pathname));
        const status = await fs.stat(file).catch(() => undefined);
        if (!status?.isFile()) {
            response.writeHead(404).end();
            return;
        }
        const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
        const range = from && to ? { start: Number(from), end: Math.min(Number(to), status.size - 1) } : undefined;
        response.writeHead(range ? 206 : 200, {
            'content-type': types[path.extname(file)] ?? 'application/octet-stream',
            'content-length': range ? range.end - range.start + 1 : status.size,
            'cache-control': 'no-cache',
            etag: `"${status.size}"`,
            ...(range ? { 'content-range': `bytes ${range.start}-${range.end}/${status.size}` } : {}),
        });
        if (pathname.startsWith('/models/') && this.stallAt < status.size) {
            const rest = this.stallAt;
            createReadStream(file, { end: rest - 1 }).pipe(response, { end: false });
            this.stalled.push(() => createReadStream(file, { start: rest }).pipe(response));
            return;
        }
        createReadStream(file, range).pipe(response);
    }

    private async fixture(name: string): Promise<string> {
        if (name === `${tinyModel}.gguf`) return await (this.tiny ??= writeTinyModel());
        return path.join(repository, 'tests/data', name.includes('diffusion') ? 'diffusion' : 'fixtures', name);
    }

    private answer(response: ServerResponse): void {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const delta of this.remoteAnswers.shift() ?? []) {
            response.write(`data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`);
        }
        response.write(`data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 9 } })}\n\n`);
        response.end('data: [DONE]\n\n');
    }

    private listRemote(response: ServerResponse): void {
        const data = ['first-model', 'second-model'].map((id) => ({ id, object: 'model' }));
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ object: 'list', data }));
    }

    private listOllama(response: ServerResponse): void {
        const digest = `sha256:${'0'.repeat(64)}`;
        const size = 7_162_394_016;
        const model = { name: 'gemma4:e2b', bytes: size, parameters: '5.1B', quantization: 'Q4_K_M', blobs: [{ digest, size }] };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ models: [model] }));
    }
}
