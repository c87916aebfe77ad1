// Ollama's model names: `[scheme://][host/][namespace/]model[:tag]`, with defaults for what is left out.
import { LapidaryError } from '../error.js';

export interface ModelName {
    host: string;
    namespace: string;
    model: string;
    tag: string;
}

const defaults = { host: 'registry.ollama.ai', namespace: 'library', tag: 'latest' } as const;

// A part starts with a letter, a digit or '_', which is also what keeps a name from climbing out of its folder.
const grammar: Record<keyof ModelName, RegExp> = {
    host: /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}$/,
    namespace: /^[A-Za-z0-9_][A-Za-z0-9_-]{0,79}$/,
    model: /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$/,
    tag: /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$/,
};

export function isValidPart(kind: keyof ModelName, text: string): boolean {
    return grammar[kind].test(text);
}

/** Undefined when the text is no model name at all. */
export function tryParseModelName(text: string): ModelName | undefined {
    let rest = text;
    const name: ModelName = { ...defaults, model: '' };

    // A ':' before the last '/' belongs to a host's port.
    const colon = rest.lastIndexOf(':');
    if (colon > rest.lastIndexOf('/')) {
        name.tag = rest.slice(colon + 1);
        rest = rest.slice(0, colon);
    }
    const modelCut = rest.lastIndexOf('/');
    name.model = rest.slice(modelCut + 1);
    if (modelCut >= 0) {
        rest = rest.slice(0, modelCut);
        const namespaceCut = rest.lastIndexOf('/');
        name.namespace = rest.slice(namespaceCut + 1);
        if (namespaceCut >= 0) {
            const host = rest.slice(0, namespaceCut);
            const scheme = host.indexOf('://');
            if (scheme === 0) return undefined; // "://" with nothing before it
            name.host = scheme > 0 ? host.slice(scheme + 3) : host;
        }
    }
    // An empty side of a separator fails here, as an empty part.
    const parts: readonly (keyof ModelName)[] = ['host', 'namespace', 'model', 'tag'];
    return parts.every((part) => isValidPart(part, name[part])) ? name : undefined;
}

export function parseModelName(text: string): ModelName {
    const name = tryParseModelName(text);
    if (!name) {
        throw new LapidaryError('invalid_argument', `'${text}' is not an Ollama model name like gemma4:e2b`);
    }
    return name;
}

/** The shortest spelling, as Ollama lists it: without the default host and namespace, always with the tag. */
export function formatModelName({ host, namespace, model, tag }: ModelName): string {
    if (host !== defaults.host) return `${host}/${namespace}/${model}:${tag}`;
    if (namespace !== defaults.namespace) return `${namespace}/${model}:${tag}`;
    return `${model}:${tag}`;
}
