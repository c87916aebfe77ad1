// Ollama's endpoints that tell about models: tags, show, ps and version.
import { isObject, type JsonObject } from 'lapidary';
import type { Bodies } from './body.js';
import type { CatalogueEntry } from './catalogue.js';
import { HttpError } from './errors.js';
import { readStream } from './ollama-request.js';
import { Descriptions } from './descriptions.js';
import type { Routes } from './http.js';
import type { Service } from './service.js';

// Ollama's word for never.
const never = '9999-12-31T23:59:59Z';

/**
 * The release of Ollama whose requests are answered here: /v1/messages is the youngest part of the interface that is
 * there. Clients that need a minimum compare with it.
 */
const ollamaVersion = '0.14.0';

export function addOllamaModelRoutes(app: Routes, service: Service, bodies: Bodies, version: string): void {
    const descriptions = new Descriptions();

    app.get('/api/version', (c) => c.json({ version: ollamaVersion, lapidary: version }));
    app.get('/api/tags', async (c) => {
        const entries = await service.catalogue.list();
        return c.json({ models: await Promise.all(entries.map((entry) => tag(entry, descriptions))) });
    });
    app.get('/api/ps', async (c) => {
        const models = service.loaded.list().map(async ({ entry, engine, expiresAt }) => ({
            ...(await tag(entry, descriptions)),
            expires_at: expiresAt?.toISOString() ?? never,
            size_vram: engine.info.backend === 'gpu' ? engine.info.weightBytes : 0,
            context_length: engine.info.contextLength,
        }));
        return c.json({ models: await Promise.all(models) });
    });
    app.post('/api/show', async (c) => {
        const entry = await service.find(modelOf((await bodies.read(c)).object()));
        return c.json(await show(entry, descriptions));
    });
    app.post('/api/pull', async (c) => {
        const body = (await bodies.read(c)).object();
        const name = modelOf(body);
        const entry = typeof name === 'string' ? await service.catalogue.find(name) : undefined;
        if (!entry || !(await isWhole(entry))) throw onlyRead();
        // The model is here already, so there is nothing to pull.
        if (!readStream(body)) return c.json({ status: 'success' });
        const lines = ['pulling manifest', 'success'].map((status) => `${JSON.stringify({ status })}\n`);
        return c.body(lines.join(''), 200, { 'content-type': 'application/x-ndjson' });
    });
    for (const path of ['/api/push', '/api/create', '/api/copy', '/api/delete', '/api/blobs/*']) {
        app.all(path, () => {
            throw onlyRead();
        });
    }
}

/** Names can be there without their bytes. */
async function isWhole(entry: CatalogueEntry): Promise<boolean> {
    try {
        const { sources } = await entry.open();
        await Promise.allSettled(sources.map((source) => source.close()));
        return true;
    } catch {
        return false;
    }
}

function onlyRead(): HttpError {
    const how = "'lapidary pull' and 'lapidary rm', or Ollama itself, bring and remove them";
    return new HttpError(501, `this server only reads models: ${how}`);
}

/** Both names are in use, and Ollama's own command sends the newer one empty. */
function modelOf({ model, name }: JsonObject): unknown {
    return model === undefined || model === null || model === '' ? name : model;
}

async function tag(entry: CatalogueEntry, descriptions: Descriptions) {
    // Ollama's own models say enough in their manifests.
    const told = entry.family !== undefined ? {} : await descriptions.of(entry).catch((): JsonObject => ({}));
    return {
        name: entry.id,
        model: entry.id,
        modified_at: entry.modified.toISOString(),
        size: entry.bytes,
        digest: entry.digest,
        details: details(entry, told),
    };
}

function details(entry: CatalogueEntry, told: JsonObject) {
    const family = entry.family ?? textOf(told['architecture']);
    return {
        parent_model: '',
        format: 'gguf',
        family,
        families: family === '' ? [] : [family],
        parameter_size: entry.parameters ?? sizeOf(told['parameters']),
        quantization_level: entry.quantization ?? mainType(told['quantization']),
    };
}

async function show(entry: CatalogueEntry, descriptions: Descriptions) {
    const told = await descriptions.of(entry);
    const { sources, ollama, params = {}, system } = await entry.open();
    await Promise.allSettled(sources.map((source) => source.close()));
    const texts = async (kind: 'license' | 'template') => (ollama ? await ollama.store.texts(ollama.model, kind) : []);
    const [license, template] = [await texts('license'), await texts('template')];
    const architecture = textOf(told['architecture']);
    const info: JsonObject = { 'general.architecture': architecture };
    const add = (key: string, from: string) => {
        const value = told[from];
        if (value !== undefined) info[key] = value;
    };
    add('general.name', 'name');
    add('general.parameter_count', 'parameters');
    add(`${architecture}.context_length`, 'context_length');
    add(`${architecture}.embedding_length`, 'width');
    add(`${architecture}.block_count`, 'layers');
    add(`${architecture}.attention.head_count`, 'heads');
    add(`${architecture}.attention.sliding_window`, 'sliding_window');
    return {
        modelfile: `# Lapidary\nFROM ${entry.id}\n`,
        parameters: parameterLines(params),
        // Ollama's own way to write a prompt. Here the model's is used, whatever stands there.
        template: template.join('\n'),
        ...(license.length === 0 ? {} : { license: license.join('\n') }),
        ...(system === undefined ? {} : { system }),
        details: details(entry, told),
        model_info: info,
        // Not `embedding`, though there are vectors: Ollama has the word for models that do nothing else.
        capabilities: told['capabilities'] ?? ['completion'],
        tensors: [],
        modified_at: entry.modified.toISOString(),
    };
}

function parameterLines(params: JsonObject): string {
    const lines = Object.entries(params).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value]).map((one) => `${name.padEnd(30)} ${JSON.stringify(one)}`),
    );
    return lines.join('\n');
}

function textOf(value: unknown): string {
    return typeof value === 'string' ? value : '';
}

/** As Ollama writes it: 29.3M, 5.1B. */
function sizeOf(value: unknown): string {
    if (typeof value !== 'number') return '';
    return value >= 1e9 ? `${(value / 1e9).toFixed(1)}B` : `${(value / 1e6).toFixed(1)}M`;
}

/** The type that most of the weights have. */
function mainType(value: unknown): string {
    if (!Array.isArray(value)) return '';
    const [first] = value.filter(isObject).sort((a, b) => Number(b['parameters']) - Number(a['parameters']));
    return textOf(first?.['type']);
}
