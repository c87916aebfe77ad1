// --adapter FILE[:scale] on the command line: a file, or the directory PEFT writes.
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { LapidaryError, LoadedAdapter, type AdapterFiles, type AdapterUse } from 'lapidary';
import { fileError } from 'lapidary/node';
import type { ModelBytes, OpenModel } from './model-argument.js';

export interface AdapterArgument {
    file: string;
    scale: number;
}

/** Bytes of an adapter and how much of it takes part. */
export type AdapterFile = AdapterFiles & { scale?: number };

export const adapterHelp = "an adapter: PEFT's directory or safetensors, a GGUF adapter, or a zip of Lapidary's";

// Above this a file is no adapter but a model that somebody has mistaken for one.
const largestAdapter = 2 ** 31 - 1;
const configName = 'adapter_config.json';
const weightsName = 'adapter_model.safetensors';

/** May be repeated: the adapters add up. */
export function adapterOption(): Option {
    return new Option('--adapter <file[:scale]>', `answer with ${adapterHelp}; may be repeated`).argParser(
        (text: string, list: AdapterArgument[] = []) => [...list, parseAdapter(text)],
    );
}

/** "facts.gguf:0.5"; what follows the last colon is a scale if it is a number. */
export function parseAdapter(text: string): AdapterArgument {
    const match = /^(.+):([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)$/i.exec(text);
    const scale = match ? Number(match[2]) : 1;
    if (!Number.isFinite(scale)) throw new InvalidArgumentError('The scale must be a number.');
    const file = match?.[1] ?? text;
    if (file === '') throw new InvalidArgumentError('It must name a file.');
    return { file, scale };
}

/** The bytes of an adapter; beside PEFT's safetensors lies its configuration. */
export async function readAdapter(file: string): Promise<AdapterFiles> {
    const folder = await isFolder(file);
    const weightsFile = folder ? path.join(file, weightsName) : file;
    const weights = await readBounded(weightsFile);
    const name = path.basename(folder ? path.resolve(file) : file).replace(/\.(gguf|safetensors|zip)$/i, '');
    const config = await readIfThere(path.join(path.dirname(weightsFile), configName));
    const peft = folder || /\.safetensors$/i.test(file);
    return { weights, name, ...(peft && config !== undefined ? { config } : {}) };
}

export async function readAdapters(wanted: readonly AdapterArgument[]): Promise<AdapterFile[]> {
    return await Promise.all(wanted.map(async ({ file, scale }) => ({ ...(await readAdapter(file)), scale })));
}

/** Those of an Ollama model, which Ollama applies with scale 1. */
export async function readOwnAdapters({ openAdapters }: Pick<ModelBytes, 'openAdapters'>): Promise<AdapterFile[]> {
    const sources = (await openAdapters?.()) ?? [];
    try {
        return await Promise.all(sources.map(async (source) => ({ weights: await source.read(0, source.size) })));
    } finally {
        await Promise.allSettled(sources.map((source) => source.close()));
    }
}

/** Loads an Ollama model's own adapters and those asked for; what comes back goes into a session's calls. */
export async function useAdapters(
    open: OpenModel,
    wanted: readonly AdapterArgument[] = [],
    signal: AbortSignal,
): Promise<AdapterUse[]> {
    const { engine, model } = open;
    const own = await readOwnAdapters(open);
    const uses: AdapterUse[] = [];
    for (const { scale, ...files } of [...own, ...(await readAdapters(wanted))]) {
        uses.push((await LoadedAdapter.load(engine, model, files, signal)).use(scale));
    }
    return uses;
}

async function isFolder(file: string): Promise<boolean> {
    try {
        return (await fs.stat(file)).isDirectory();
    } catch (error) {
        throw fileError(error, file, 'read');
    }
}

async function readBounded(file: string): Promise<Uint8Array> {
    try {
        const { size } = await fs.stat(file);
        if (size > largestAdapter) throw new LapidaryError('limit', `'${file}' is too large for an adapter`);
        return await fs.readFile(file);
    } catch (error) {
        throw fileError(error, file, 'read');
    }
}

async function readIfThere(file: string): Promise<string | undefined> {
    try {
        return await fs.readFile(file, 'utf8');
    } catch {
        return undefined;
    }
}
