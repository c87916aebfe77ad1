// Adapters beside the loaded model: small files that change how it answers, chosen per request.
import type { Core } from './core/core.js';
import { LapidaryError } from './error.js';
import type { AdapterFiles, AdapterFormat, AdapterInfo, ExportedFile } from './workshop/calls.js';

/**
 * Where an adapter comes from: a GGUF adapter or PEFT's `adapter_model.safetensors` as bytes, as a File or at an
 * address; or PEFT's two files. From an address, `adapter_config.json` is looked for beside the safetensors.
 */
export type AdapterSource =
    | string
    | URL
    | Blob
    | Uint8Array
    | { weights: Blob | Uint8Array; config?: string | Blob | object };

export interface AdapterOptions {
    /** For people; what the file calls itself unless told. */
    name?: string;
    signal?: AbortSignal;
}

export class Adapters {
    private readonly loaded = new Map<string, AdapterInfo>();

    /** @internal */
    constructor(private readonly core: Core) {}

    /** Refused with a sentence when it does not belong to the loaded model. */
    async load(source: AdapterSource, { name, signal }: AdapterOptions = {}): Promise<AdapterInfo> {
        const files = await filesOf(source, signal);
        const info = await this.core.workshop('addAdapter', { ...files, ...(name === undefined ? {} : { name }) }, { signal });
        this.loaded.set(info.id, info);
        return info;
    }

    list(): AdapterInfo[] {
        return [...this.loaded.values()];
    }

    /** @internal One that came from a training. */
    add(info: AdapterInfo): void {
        this.loaded.set(info.id, info);
    }

    async remove(adapter: string | AdapterInfo): Promise<void> {
        const id = idOf(adapter);
        this.loaded.delete(id);
        await this.core.workshop('removeAdapter', id);
    }

    /** `peft`: the two files of PEFT's directory; `zip`: both in one; `gguf`: one file for llama.cpp and Ollama. */
    async export(
        adapter: string | AdapterInfo,
        format: AdapterFormat = 'peft',
        options: { type?: 'f32' | 'f16' | 'bf16'; signal?: AbortSignal } = {},
    ): Promise<ExportedFile[]> {
        const { type, signal } = options;
        const args = { id: idOf(adapter), format, ...(type === undefined ? {} : { type }) };
        return await this.core.workshop('exportAdapter', args, { signal });
    }
}

// The engine has no room for more.
const mostAdapterBytes = 4 * 1024 ** 3;
const mostConfigBytes = 1024 * 1024;

function idOf(adapter: string | AdapterInfo): string {
    return typeof adapter === 'string' ? adapter : adapter.id;
}

async function filesOf(source: AdapterSource, signal: AbortSignal | undefined): Promise<AdapterFiles> {
    if (typeof source === 'string' || source instanceof URL) return await fetched(new URL(source, base()), signal);
    if (source instanceof Uint8Array || source instanceof Blob) return { weights: source };
    const { weights, config } = source;
    if (config === undefined) return { weights };
    if (typeof config === 'string') return { weights, config };
    return { weights, config: config instanceof Blob ? await config.text() : JSON.stringify(config) };
}

async function fetched(url: URL, signal: AbortSignal | undefined): Promise<AdapterFiles> {
    const stop = signal ? { signal } : {};
    const response = await fetch(url, stop);
    if (!response.ok) throw new LapidaryError('io', `the adapter could not be read: the server answered ${response.status}`);
    const { bodyOf } = await import('./sources/body.js'); // few ask for it
    const weights = await bodyOf(response, 'the adapter', mostAdapterBytes);
    if (!url.pathname.endsWith('.safetensors')) return { weights };
    const beside = await fetch(new URL('adapter_config.json', url), stop);
    if (!beside.ok) return { weights };
    return { weights, config: await (await bodyOf(beside, "the adapter's configuration", mostConfigBytes)).text() };
}

function base(): string | undefined {
    return typeof document === 'object' ? document.baseURI : undefined;
}
