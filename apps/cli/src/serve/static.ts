// The web app's files, as its build leaves them, and the built-in model.
import { promises as fs, type Stats } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { FileSource } from 'lapidary/node';
import { HttpError } from './errors.js';
import type { Context } from './http.js';
import { sendSource, versionTag } from './send.js';

const types: Record<string, string> = {
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.mjs': 'text/javascript; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.json': 'application/json; charset=utf-8',
    '.map': 'application/json; charset=utf-8',
    '.webmanifest': 'application/manifest+json; charset=utf-8',
    '.wasm': 'application/wasm',
    '.svg': 'image/svg+xml',
    '.png': 'image/png',
    '.webp': 'image/webp',
    '.ico': 'image/x-icon',
    '.woff2': 'font/woff2',
    '.txt': 'text/plain; charset=utf-8',
    '.md': 'text/markdown; charset=utf-8',
};
const compressible = /^(text\/|application\/(json|manifest|wasm)|image\/svg)/;

// Above this nobody wants to wait for a compression.
const largestCompressed = 16 * 1024 * 1024;

interface Found {
    file: string;
    status: Stats;
}

export class StaticFiles {
    private readonly compressed = new Map<string, Promise<Buffer>>();

    constructor(private readonly root: string) {}

    /** Undefined when there is no such file. */
    async respond(c: Context): Promise<Response | undefined> {
        const parts = pathParts(c.req.path);
        const found = (await this.find(parts)) ?? (isPage(c, parts) ? await this.find(['index.html']) : undefined);
        if (!found) return undefined;
        return await this.send(c, found);
    }

    private async find(parts: readonly string[]): Promise<Found | undefined> {
        const wanted = parts.length === 0 ? ['index.html'] : parts;
        try {
            const file = await fs.realpath(path.join(this.root, ...wanted));
            // Behind a link anything could lie.
            if (!file.startsWith((await fs.realpath(this.root)) + path.sep)) return undefined;
            const status = await fs.stat(file);
            return status.isFile() ? { file, status } : undefined;
        } catch {
            return undefined;
        }
    }

    private async send(c: Context, { file, status }: Found): Promise<Response> {
        const contentType = types[path.extname(file).toLowerCase()] ?? 'application/octet-stream';
        const etag = versionTag(status.size, status.mtimeMs);
        // Vite puts a hash of the contents into the names below assets; everything else must be asked for again.
        const hashed = path.relative(this.root, file).startsWith(`assets${path.sep}`);
        const options = {
            contentType,
            cacheControl: hashed ? 'public, max-age=31536000, immutable' : 'no-cache',
            etag,
        };
        const squeezed =
            compressible.test(contentType) &&
            status.size <= largestCompressed &&
            c.req.header('range') === undefined &&
            /\bgzip\b/.test(c.req.header('accept-encoding') ?? '');
        if (!squeezed) return vary(await sendSource(c, await FileSource.open(file), options), contentType);

        const bytes = await this.squeeze(file, etag);
        const source = {
            size: bytes.length,
            name: path.basename(file),
            read: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
            close: async () => undefined,
        };
        const squeezedTag = versionTag(status.size, status.mtimeMs, '-gz');
        const response = await sendSource(c, source, { ...options, etag: squeezedTag });
        if (response.status !== 304) response.headers.set('content-encoding', 'gzip');
        response.headers.delete('accept-ranges'); // ranges of the compressed bytes would be of no use
        return vary(response, contentType);
    }

    private squeeze(file: string, version: string): Promise<Buffer> {
        const key = `${file}\n${version}`;
        const known = this.compressed.get(key);
        if (known) return known;
        if (this.compressed.size > 200) this.compressed.clear(); // somebody builds again and again
        const work = fs.readFile(file).then((bytes) => promisify(gzip)(bytes, { level: 9 }));
        work.catch(() => this.compressed.delete(key));
        this.compressed.set(key, work);
        return work;
    }
}

function vary(response: Response, contentType: string): Response {
    if (compressible.test(contentType)) response.headers.append('vary', 'Accept-Encoding');
    return response;
}

/** The names in a URL's path. Whatever could leave the folder is refused, not repaired. */
export function pathParts(urlPath: string): string[] {
    let decoded: string;
    try {
        decoded = decodeURIComponent(urlPath);
    } catch {
        throw new HttpError(400, 'the path is not valid');
    }
    const parts = decoded.split('/').filter((part) => part !== '');
    // Names with a dot in front are nobody's business; '..' is one of them.
    const odd = parts.some((part) => part.startsWith('.') || /[\\\0:]/.test(part));
    if (odd) throw new HttpError(404, 'there is no such page');
    return parts;
}

/** An address inside the app, which the app itself understands: no file has such a name. */
function isPage(c: Context, parts: readonly string[]): boolean {
    return !parts.at(-1)?.includes('.') && (c.req.header('accept') ?? '').includes('text/html');
}

/** What there is to see before the app was built. */
export function placeholderPage(): Response {
    const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Lapidary</title>
<h1>Lapidary is running</h1>
<p>The web app has not been built: run <code>make build</code>, then load this page again.</p>
<p>Programs can use <code>/v1</code> (as OpenAI's API) and <code>/api</code> (as Ollama's) already.</p></html>
`;
    return new Response(html, { headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' } });
}
