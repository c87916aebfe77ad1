// A stand-in for Hugging Face: search, listings, files behind a redirect to another host, gated repositories. In memory,
// on loopback, for tests here and those of the app (`endpoints: { huggingface: server.endpoint }`).
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SourceServer } from './source-server.js';

export interface FakeRepository {
    files: Record<string, Uint8Array>;
    licence?: string;
    architecture?: string;
    downloads?: number;
    gated?: false | 'auto' | 'manual';
    /** Members of the answer about it that are to be something else. */
    extra?: Record<string, unknown>;
}

/** The one token that opens gated repositories; `tokenWithoutAccess` belongs to somebody who has not agreed. */
export const goodToken = 'hf_good';
export const tokenWithoutAccess = 'hf_stranger';

export class HubServer extends SourceServer {
    private readonly repositories = new Map<string, FakeRepository>();

    static async start(repositories: Readonly<Record<string, FakeRepository>> = {}): Promise<HubServer> {
        const server = new HubServer();
        for (const [name, repository] of Object.entries(repositories)) server.put(name, repository);
        await server.listen();
        return server;
    }

    /** Also a new version of one that is there. */
    put(name: string, repository: FakeRepository): void {
        this.repositories.set(name, repository);
        for (const bytes of Object.values(repository.files)) this.store(bytes);
    }

    remove(name: string): void {
        this.repositories.delete(name);
    }

    commitOf(name: string): string {
        const files = Object.entries(this.repositories.get(name)?.files ?? {});
        const hash = createHash('sha1');
        for (const [path, bytes] of files) hash.update(path).update(bytes);
        return hash.digest('hex');
    }

    protected answer(request: IncomingMessage, response: ServerResponse, url: URL): void {
        const [first = '', second = '', ...rest] = url.pathname.split('/').slice(1).map(decodeURIComponent);
        if (first === 'api' && second === 'models' && rest.length === 0) return this.search(response, url);
        if (first === 'api' && second === 'models') {
            const [owner = '', name = '', word, revision] = rest;
            return this.describe(request, response, `${owner}/${name}`, word === 'revision' ? revision : undefined, url);
        }
        if (rest[0] === 'resolve') return this.file(request, response, `${first}/${second}`, rest[1] ?? '', rest.slice(2).join('/'));
        response.writeHead(404).end();
    }

    private search(response: ServerResponse, url: URL): void {
        const words = (url.searchParams.get('search') ?? '').toLowerCase().split(' ');
        const limit = Number(url.searchParams.get('limit') ?? '1000');
        const found = [...this.repositories.keys()]
            .filter((name) => words.every((word) => name.toLowerCase().includes(word)))
            .sort((a, b) => (this.repositories.get(b)?.downloads ?? 0) - (this.repositories.get(a)?.downloads ?? 0));
        this.json(response, found.slice(0, limit).map((name) => this.description(name, false)));
    }

    private describe(
        { headers }: IncomingMessage,
        response: ServerResponse,
        name: string,
        revision: string | undefined,
        url: URL,
    ): void {
        // To strangers the real one does not say whether a repository is private or is not there at all.
        if (!this.repositories.has(name)) {
            const status = headers.authorization === undefined ? 401 : 404;
            return this.json(response, { error: 'Repository not found' }, status, { 'x-error-code': 'RepoNotFound' });
        }
        if (revision !== undefined && !this.isRevision(name, revision)) {
            return this.json(response, { error: 'Invalid rev id' }, 404, { 'x-error-code': 'RevisionNotFound' });
        }
        this.json(response, this.description(name, url.searchParams.get('blobs') === 'true'));
    }

    private description(name: string, blobs: boolean): Record<string, unknown> {
        const { files, licence, architecture, downloads = 0, gated = false, extra } = this.repositories.get(name) ?? { files: {} };
        const siblings = Object.entries(files).map(([rfilename, bytes]) => {
            const sha256 = createHash('sha256').update(bytes).digest('hex');
            const lfs = { sha256, size: bytes.length, pointerSize: 134 };
            return { rfilename, ...(blobs ? { size: bytes.length, blobId: '0'.repeat(40), lfs } : {}) };
        });
        return {
            _id: '0',
            id: name,
            modelId: name,
            sha: this.commitOf(name),
            private: false,
            gated,
            downloads,
            likes: 1,
            tags: ['gguf', ...(licence === undefined ? [] : [`license:${licence}`])],
            ...(licence === undefined ? {} : { cardData: { license: licence } }),
            ...(architecture === undefined ? {} : { gguf: { total: 1, architecture, context_length: 1024 } }),
            siblings,
            ...extra,
        };
    }

    private file({ headers }: IncomingMessage, response: ServerResponse, name: string, revision: string, path: string): void {
        const repository = this.repositories.get(name);
        const refuse = (status: number, code: string) => void response.writeHead(status, { 'x-error-code': code }).end();
        if (!repository) return refuse(headers.authorization === undefined ? 401 : 404, 'RepoNotFound');
        if (repository.gated && headers.authorization !== `Bearer ${goodToken}`) {
            return refuse(headers.authorization === undefined ? 401 : 403, 'GatedRepo');
        }
        const bytes = repository.files[path];
        if (!bytes || !this.isRevision(name, revision)) return refuse(404, bytes ? 'RevisionNotFound' : 'EntryNotFound');
        const digest = this.store(bytes);
        this.redirect(response, digest, {
            'x-linked-etag': `"${digest}"`,
            'x-linked-size': String(bytes.length),
            'x-repo-commit': this.commitOf(name),
        });
    }

    private isRevision(name: string, revision: string): boolean {
        return revision === 'main' || revision === this.commitOf(name);
    }
}
