// Adapters that are kept in this browser, in the engine: loaded when an answer first wants them.
import type { AdapterInfo, ExportedFile, LoadedEngine } from 'lapidary';
import { newId } from '../store/ids.js';
import { adapterFiles, saveAdapter, type StoredAdapter } from '../store/workshop.js';

export interface ChosenAdapter {
    id: string;
    scale: number;
}

const loaded = new WeakMap<LoadedEngine, Map<string, Promise<AdapterInfo>>>();

/** As a request wants them. Those that were removed meanwhile are left out. */
export async function inEngine(
    engine: LoadedEngine,
    chosen: readonly ChosenAdapter[],
): Promise<{ adapter: string; scale: number }[]> {
    const out: { adapter: string; scale: number }[] = [];
    for (const { id, scale } of chosen) {
        const adapter = await load(engine, id);
        if (adapter) out.push({ adapter: adapter.id, scale });
    }
    return out;
}

async function load(engine: LoadedEngine, id: string): Promise<AdapterInfo | undefined> {
    const known = loaded.get(engine) ?? new Map<string, Promise<AdapterInfo>>();
    loaded.set(engine, known);
    const there = known.get(id);
    if (there) return await there;
    const files = await adapterFiles(id);
    if (!files) return undefined;
    const { weights, config, name } = files;
    const loading = engine.adapters.load({ weights, ...(config === undefined ? {} : { config }) }, { name });
    known.set(id, loading);
    loading.catch(() => known.delete(id));
    return await loading;
}

/** Files someone brought: checked by the engine, then kept. */
export async function importAdapter(
    engine: LoadedEngine,
    files: { weights: Blob; config?: string },
    name: string,
    model: string,
): Promise<StoredAdapter> {
    const info = await engine.adapters.load(files, { name });
    await engine.adapters.remove(info);
    const id = newId();
    const stored: StoredAdapter = {
        id,
        name,
        model,
        createdAt: Date.now(),
        bytes: files.weights.size,
        parameters: info.parameters,
        origin: 'from a file',
    };
    await saveAdapter(stored, { id, ...files });
    return stored;
}

/** One file to download. */
export async function exportAdapter(engine: LoadedEngine, id: string, format: 'peft' | 'gguf'): Promise<ExportedFile> {
    const adapter = await load(engine, id);
    if (!adapter) throw new Error('this adapter is not here any more');
    const plain = adapter.name.replace(/[^\w.-]+/g, '-').replace(/^-+|-+$/g, '') || 'adapter';
    if (format === 'peft') return { name: `${plain}-peft.zip`, bytes: await engine.adapters.exportZip(adapter) };
    const [file] = await engine.adapters.export(adapter, 'gguf');
    if (!file) throw new Error('the adapter could not be exported');
    return { name: `${plain}.gguf`, bytes: file.bytes };
}
