// What a repository or a registry says about its licence, in words that people can decide on.
import type { Licence } from '../catalogue/catalogue.js';
import { apache, gemmaTerms } from '../catalogue/models.js';
import { isObject, optionalString, type JsonObject } from '../json.js';

const known = {
    'apache-2.0': { ...apache, url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    mit: { ...apache, id: 'mit', name: 'MIT License', url: 'https://opensource.org/license/mit' },
    gemma: gemmaTerms,
} satisfies Record<string, Licence>;

/** Undefined when nothing is said. Of a licence we do not know, only its name and where to read it are told. */
export function licenceOf(json: JsonObject, page: string): Licence | undefined {
    const card = isObject(json['cardData']) ? json['cardData'] : {};
    const tags = Array.isArray(json['tags']) ? json['tags'] : [];
    const tag = tags.find((text): text is string => typeof text === 'string' && text.startsWith('license:'));
    const id = plain(optionalString(card, 'license') ?? tag?.slice('license:'.length));
    if (id === undefined) return undefined;
    if (Object.hasOwn(known, id)) return known[id as keyof typeof known];
    const name = plain(optionalString(card, 'license_name')) ?? id;
    return unknownLicence(name, httpsOr(optionalString(card, 'license_link'), page));
}

/** By its text, as Ollama's registry has it. */
export function licenceOfText(text: string, page: string): Licence {
    const beginning = text.slice(0, 400);
    if (/apache license\s+version 2\.0/i.test(beginning)) return known['apache-2.0'];
    if (/^\s*mit license/i.test(beginning)) return known.mit;
    if (/gemma terms of use/i.test(beginning)) return known.gemma;
    return unknownLicence(plain(beginning.trim().split('\n')[0]) ?? 'a licence of its own', page);
}

function unknownLicence(name: string, url: string): Licence {
    return { id: 'other', name, url, summary: ['Read it at its page before you use the model.'], mustAgree: true };
}

/** It is shown to people: one line without surprises. */
function plain(text: string | undefined): string | undefined {
    const shown = text?.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g, '').trim().slice(0, 80);
    return shown === '' ? undefined : shown;
}

function httpsOr(text: string | undefined, otherwise: string): string {
    try {
        const url = new URL(text ?? '');
        return url.protocol === 'https:' ? url.href : otherwise;
    } catch {
        return otherwise;
    }
}
