// One adapter in the engine: the door's adapter.* in TypeScript. `Adapters` is what people program against.
import type { Engine } from './engine.js';
import type { AdapterDescription } from './messages.js';
import type { Model } from './model.js';
import type { AdapterUse } from './session.js';
import type { AdapterFiles, AdapterFormat, ExportedFile } from './workshop/calls.js';

export class LoadedAdapter {
    private closed = false;

    private constructor(
        private readonly engine: Engine,
        private readonly handle: number,
        readonly description: AdapterDescription,
    ) {}

    /** Refused with a sentence when it does not belong to the model. */
    static async load(engine: Engine, model: Model, files: AdapterFiles, signal?: AbortSignal): Promise<LoadedAdapter> {
        const { weights, config, name } = files;
        const args = { model: model.number, name, config };
        const blob = weights instanceof Uint8Array ? weights : new Uint8Array(await weights.arrayBuffer());
        const { json } = await engine.call('adapter.load', args, { blob, ...(signal ? { signal } : {}) });
        return new LoadedAdapter(engine, json.adapter, json.description);
    }

    /** For `adapters` of a session's calls. */
    use(scale = 1): AdapterUse {
        return { adapter: this.handle, scale };
    }

    /** The files of a PEFT directory, the same in one zip, or one for llama.cpp and Ollama. */
    async export(
        format: AdapterFormat,
        options: { type?: string; signal?: AbortSignal } = {},
    ): Promise<ExportedFile[]> {
        return await exportedFiles(this.engine, this.handle, format, options);
    }

    async close(): Promise<void> {
        if (this.closed) return;
        this.closed = true;
        if (this.engine.usable) await this.engine.call('adapter.close', { adapter: this.handle });
    }
}

/** The files of an adapter that the engine knows by its number. */
export async function exportedFiles(
    engine: Engine,
    adapter: number,
    format: AdapterFormat,
    { type, signal }: { type?: string | undefined; signal?: AbortSignal | undefined },
): Promise<ExportedFile[]> {
    const { json, blob } = await engine.call('adapter.export', { adapter, format, type }, signal ? { signal } : {});
    return json.files.map(({ name, offset, size }) => ({ name, bytes: blob.slice(offset, offset + size) }));
}
