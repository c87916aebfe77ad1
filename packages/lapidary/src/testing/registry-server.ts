// A stand-in for Ollama's registry: manifests, and blobs behind a redirect to another host. In memory, on loopback, for
// tests here and those of the app (`endpoints: { ollama: server.endpoint }`).
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SourceServer } from './source-server.js';

export interface FakeOllamaModel {
    model: Uint8Array;
    adapter?: Uint8Array;
    family?: string;
    params?: Record<string, unknown>;
    system?: string;
    licence?: string;
}

const prefix = 'application/vnd.ollama.image.';

export class RegistryServer extends SourceServer {
    /** Nothing is told without a token, which anybody gets who asks for one. */
    wantsToken = false;
    private readonly manifests = new Map<string, unknown>();

    /** Names as in `library/gemma4:e2b`. */
    static async start(models: Readonly<Record<string, FakeOllamaModel>> = {}): Promise<RegistryServer> {
        const server = new RegistryServer();
        for (const [name, model] of Object.entries(models)) server.put(name, model);
        await server.listen();
        return server;
    }

    put(name: string, { model, adapter, family = 'gemma4', params, system, licence }: FakeOllamaModel): void {
        const layer = (mediaType: string, bytes: Uint8Array) => ({ mediaType, digest: `sha256:${this.store(bytes)}`, size: bytes.length });
        const text = (value: string) => new TextEncoder().encode(value);
        const config = { model_format: 'gguf', model_family: family, model_type: '5.1B', file_type: 'Q4_K_M' };
        this.putManifest(name, {
            schemaVersion: 2,
            config: layer('application/vnd.docker.container.image.v1+json', text(JSON.stringify(config))),
            layers: [
                layer(`${prefix}model`, model),
                ...(adapter ? [layer(`${prefix}adapter`, adapter)] : []),
                ...(licence === undefined ? [] : [layer(`${prefix}license`, text(licence))]),
                ...(system === undefined ? [] : [layer(`${prefix}system`, text(system))]),
                ...(params === undefined ? [] : [layer(`${prefix}params`, text(JSON.stringify(params)))]),
            ],
        });
    }

    /** Whatever somebody may have put there. */
    putManifest(name: string, manifest: unknown): void {
        this.manifests.set(name, manifest);
    }

    protected answer({ headers }: IncomingMessage, response: ServerResponse, url: URL): void {
        const path = decodeURIComponent(url.pathname);
        if (path === '/token') return this.json(response, { token: 'anonymous' });
        if (this.wantsToken && headers.authorization !== 'Bearer anonymous') {
            const realm = `Bearer realm="${this.endpoint}/token",service="registry",scope="repository:pull"`;
            return this.json(response, { errors: [] }, 401, { 'www-authenticate': realm });
        }
        const [, name, kind, which] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
        if (kind === 'blobs') return this.redirect(response, which?.replace('sha256:', '') ?? '');
        const manifest = this.manifests.get(`${name}:${which}`);
        if (manifest === undefined) return this.json(response, { errors: [{ code: 'MANIFEST_UNKNOWN' }] }, 404);
        this.json(response, manifest);
    }
}
