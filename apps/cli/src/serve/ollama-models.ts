// Ollama's endpoints that tell about models: tags, show, ps and version.
import { isObject, type JsonObject } from 'lapidary';
import type { Bodies } from './body.js';
import type { CatalogueEntry } from './catalogue.js';
import { Descriptions } from './descriptions.js';
import type { Routes } from './http.js';
import type { Service } from './service.js';

// Ollama's word for never.
const never = '9999-12-31T23:59:59Z';

export function addOllamaModelRoutes(app: Routes, service: Service, bodies: Bodies, version: string): void {
    const descriptions = new Descriptions();

    app.get('/api/version', (c) => c.json({ version }));
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
        const body = await bodies.object(c);
        const entry = await service.find(body['model'] ?? body['name']);
        return c.json(await show(entry, descriptions));
    });
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
    const { sources, ollama } = await entry.open();
    await Promise.allSettled(sources.map((source) => source.close()));
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
        parameters: parameterLines(ollama?.model.params ?? {}),
        template: '',
        ...(ollama?.model.system === undefined ? {} : { system: ollama.model.system }),
        details: details(entry, told),
        model_info: info,
        capabilities: ['completion', 'tools', 'thinking', 'embedding'],
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
