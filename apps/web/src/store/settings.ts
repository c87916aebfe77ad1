// What the person chose, in localStorage: small, needed before the first paint, and the same for every tab.
import { Observable } from './observable.js';

export interface Endpoint {
    kind: 'openai' | 'ollama';
    url: string;
    key: string;
    model: string;
}

/** How an answer should be written. What is left undefined is the model's own choice. */
export interface Wishes {
    temperature?: number | undefined;
    topP?: number | undefined;
    topK?: number | undefined;
    minP?: number | undefined;
    repeatPenalty?: number | undefined;
    seed?: number | undefined;
    maxTokens?: number | undefined;
}

export const canvasSettings = [
    'steps',
    't_max',
    't_min',
    'entropy_bound',
    'stability_threshold',
    'confidence_threshold',
] as const;

/** How a model that writes by canvases settles them, in the engine's words. */
export type CanvasWishes = { readonly [name in (typeof canvasSettings)[number]]?: number };

/** An adapter that answers take part of. */
export interface AdapterChoice {
    id: string;
    name: string;
    /** The model it belongs to: with another one it rests. */
    model: string;
    scale: number;
}

export interface Settings extends Wishes {
    theme: 'system' | 'light' | 'dark';
    system: string;
    thinking: boolean;
    contextLength?: number | undefined;
    /** Definitions of tools, JSON as the OpenAI API has them. */
    tools: string;
    /** Names of the tools of this app that the model may call. */
    ownTools: readonly string[];
    backend: 'auto' | 'gpu' | 'cpu';
    /** Where models are looked for instead of huggingface.co; empty for that. */
    hub: string;
    /** Ask another computer, or another program, instead of the engine in this page. */
    useEndpoint: boolean;
    endpoint: Endpoint;
    adapters: readonly AdapterChoice[];
    diffusion: CanvasWishes;
}

export const defaults: Settings = {
    theme: 'system',
    system: '',
    thinking: false,
    tools: '',
    ownTools: [],
    backend: 'auto',
    hub: '',
    useEndpoint: false,
    endpoint: { kind: 'openai', url: '', key: '', model: '' },
    adapters: [],
    diffusion: {},
};

const key = 'lapidary-settings';

/** Only fields we know, of the type we expect: the stored text may be from another version or hand-made. */
export function parseSettings(text: string | null): Settings {
    let stored: unknown;
    try {
        stored = JSON.parse(text ?? '{}');
    } catch {
        return defaults;
    }
    if (typeof stored !== 'object' || stored === null) return defaults;
    const from = stored as Record<string, unknown>;
    const one = <T extends string>(value: unknown, choices: readonly T[], otherwise: T): T =>
        choices.find((choice) => choice === value) ?? otherwise;
    const string = (value: unknown) => (typeof value === 'string' ? value : '');
    const settings: Settings = {
        theme: one(from['theme'], ['system', 'light', 'dark'], 'system'),
        system: string(from['system']),
        thinking: from['thinking'] === true,
        tools: string(from['tools']),
        ownTools: parseNames(from['ownTools']),
        backend: one(from['backend'], ['auto', 'gpu', 'cpu'], 'auto'),
        hub: string(from['hub']),
        useEndpoint: from['useEndpoint'] === true,
        endpoint: defaults.endpoint,
        adapters: parseAdapters(from['adapters']),
        diffusion: parseCanvasWishes(from['diffusion']),
    };
    for (const name of numericSettings) {
        const value = from[name];
        if (typeof value !== 'number') continue;
        // An earlier version took more.
        const meant = name === 'temperature' ? Math.min(value, ranges.temperature.max) : value;
        if (rangeProblem(name, meant) === undefined) settings[name] = meant;
    }
    const endpoint = from['endpoint'];
    if (typeof endpoint === 'object' && endpoint !== null) {
        const { kind, url, key: secret, model } = endpoint as Record<string, unknown>;
        settings.endpoint = {
            kind: one(kind, ['openai', 'ollama'], 'openai'),
            url: string(url),
            key: string(secret),
            model: string(model),
        };
    }
    return settings;
}

function parseNames(value: unknown): string[] {
    return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
}

function parseCanvasWishes(value: unknown): CanvasWishes {
    const from = Object(value) as Record<string, unknown>;
    return Object.fromEntries(canvasSettings.filter((name) => typeof from[name] === 'number').map((name) => [name, from[name]]));
}

function parseAdapters(value: unknown): AdapterChoice[] {
    if (!Array.isArray(value)) return [];
    return value.flatMap((item: unknown) => {
        if (typeof item !== 'object' || item === null) return [];
        const { id, name, model, scale } = item as Record<string, unknown>;
        if (typeof id !== 'string' || typeof name !== 'string' || typeof model !== 'string') return [];
        return [{ id, name, model, scale: typeof scale === 'number' && Number.isFinite(scale) ? scale : 1 }];
    });
}

export const numericSettings = [
    'temperature',
    'topP',
    'topK',
    'minP',
    'repeatPenalty',
    'seed',
    'maxTokens',
    'contextLength',
] as const;

export type NumericSetting = (typeof numericSettings)[number];

export interface Range {
    min: number;
    max: number;
    whole: boolean;
}

export const ranges: Record<NumericSetting, Range> = {
    temperature: { min: 0, max: 2, whole: false },
    topP: { min: 0, max: 1, whole: false },
    topK: { min: 0, max: 1000, whole: true },
    minP: { min: 0, max: 1, whole: false },
    repeatPenalty: { min: 0.1, max: 5, whole: false },
    seed: { min: 0, max: 2 ** 32 - 1, whole: true },
    maxTokens: { min: 1, max: 2 ** 20, whole: true },
    contextLength: { min: 128, max: 2 ** 20, whole: true },
};

/** Why the number cannot be used, in a sentence; undefined when it can. */
export function rangeProblem(name: NumericSetting, value: number): string | undefined {
    return problemIn(ranges[name], value);
}

export function problemIn({ min, max, whole }: Range, value: number): string | undefined {
    if (value >= min && value <= max && (!whole || Number.isInteger(value))) return undefined;
    const kind = whole ? 'whole number' : 'number';
    return `Not used: a ${kind} from ${min} to ${max.toLocaleString('en')} is needed.`;
}

function read(): Settings {
    try {
        return parseSettings(localStorage.getItem(key));
    } catch {
        return defaults; // storage is forbidden here
    }
}

export const settings = new Observable<Settings>(defaults);

export function startSettings(): void {
    settings.set(read());
    settings.subscribe((value) => {
        try {
            localStorage.setItem(key, JSON.stringify(value));
        } catch {
            // Then they last as long as the page.
        }
        applyTheme(value.theme);
    });
    // Another tab changed something.
    addEventListener('storage', (event) => {
        if (event.key === key) settings.set(parseSettings(event.newValue));
    });
}

function applyTheme(theme: Settings['theme']): void {
    const { dataset } = document.documentElement;
    if (theme === 'system') delete dataset['theme'];
    else dataset['theme'] = theme;
}
