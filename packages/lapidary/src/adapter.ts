// One adapter in the engine: the door's adapter.* in TypeScript. `Adapters` is what people program against.
import type { Engine } from './engine.js';
import { isObject, numberField, type JsonObject } from './json.js';
import type { Model } from './model.js';
import type { AdapterUse } from './session.js';
import type { AdapterFiles, ExportedFile } from './workshop/calls.js';

export class LoadedAdapter {
    private closed = false;

    private constructor(
        private readonly engine: Engine,
        private readonly handle: number,
        /** `name`, `format`, `ranks`, `targets`, `layers`, `parameters`, `updates`, `ignored` … */
        readonly description: JsonObject,
    ) {}

    /** Refused with a sentence when it does not belong to the model. */
    static async load(engine: Engine, model: Model, files: AdapterFiles, signal?: AbortSignal): Promise<LoadedAdapter> {
        const { weights, config, name } = files;
        const args = {
            model: model.number,
            ...(name === undefined ? {} : { name }),
            ...(config === undefined ? {} : { config }),
        };
        const blob = weights instanceof Uint8Array ? weights : new Uint8Array(await weights.arrayBuffer());
        const { json } = await engine.call('adapter.load', args, { blob, ...(signal ? { signal } : {}) });
        const { description } = json;
        return new LoadedAdapter(engine, numberField(json, 'adapter', 'the loaded adapter'), isObject(description) ? description : {});
    }

    /** For `adapters` of a session's calls. */
    use(scale = 1): AdapterUse {
        return { adapter: this.handle, scale };
    }

    /** The files of a PEFT directory, the same in one zip, or one for llama.cpp and Ollama. */
    async export(
        format: 'peft' | 'zip' | 'gguf',
        options: { type?: string; signal?: AbortSignal } = {},
    ): Promise<ExportedFile[]> {
        const { type, signal } = options;
        const args = { adapter: this.handle, format, ...(type === undefined ? {} : { type }) };
        const { json, blob } = await this.engine.call('adapter.export', args, signal ? { signal } : {});
        const files = Array.isArray(json['files']) ? json['files'] : [];
        return files.filter(isObject).map((file) => {
            const offset = numberField(file, 'offset', 'an exported file');
            const size = numberField(file, 'size', 'an exported file');
            return { name: String(file['name']), bytes: blob.subarray(offset, offset + size) };
        });
    }

    async close(): Promise<void> {
        if (this.closed) return;
        this.closed = true;
        if (this.engine.usable) await this.engine.call('adapter.close', { adapter: this.handle });
    }
}
