// What a person may write where a model is wanted, taken apart. Nothing is looked up here.
import { LapidaryError } from '../error.js';
import { parseHttpUrl } from '../sources/http.js';
import { tryParseModelName, type ModelName } from '../ollama/name.js';
import type { Places } from './endpoints.js';

export interface HubReference {
    kind: 'huggingface';
    /** `OWNER/REPO` */
    repository: string;
    /** A branch, a tag or a commit; the main branch unless told. */
    revision?: string;
    /** A file of the repository; one is chosen unless told. */
    file?: string;
    /** Instead of a file: which one is wanted, as `Q4_K_M`. */
    quantisation?: string;
}

export type Reference =
    /** Of the catalogue, or of Ollama's registry when it has the form of such a name. */
    | { kind: 'name'; name: string; ollama: ModelName | undefined }
    | HubReference
    | { kind: 'ollama'; name: ModelName }
    | { kind: 'url'; url: URL };

const longest = 2048;
const part = /^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/;

export function parseReference(text: string, { huggingface }: Pick<Places, 'huggingface'>): Reference {
    const ref = text.trim();
    if (ref === '' || ref.length > longest || /[\u0000-\u001f\u007f]/.test(ref)) {
        throw wrong(text, 'it is empty, too long, or has control characters in it');
    }
    if (/^hf:/i.test(ref)) return parseHub(ref.slice(3), ref);
    if (/^ollama:/i.test(ref)) return { kind: 'ollama', name: ollamaName(ref.slice(7), ref) };
    if (/^(?:www\.)?(?:huggingface\.co|hf\.co)\//i.test(ref)) return parseReference(`https://${ref}`, { huggingface });
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(ref)) return parseAddress(parseHttpUrl(ref), huggingface);
    return { kind: 'name', name: ref, ollama: tryParseModelName(ref) };
}

/** `OWNER/REPO`, `OWNER/REPO:Q4_0`, `OWNER/REPO/path/file.gguf`, each with `@revision` behind it if wanted. */
function parseHub(rest: string, ref: string): HubReference {
    const at = rest.lastIndexOf('@');
    const revision = at >= 0 ? checkRevision(rest.slice(at + 1), ref) : undefined;
    const [owner = '', name = '', ...path] = (at >= 0 ? rest.slice(0, at) : rest).replace(/^\/+|\/+$/g, '').split('/');
    const [repo = '', quantisation, ...more] = path.length === 0 ? name.split(':') : [name];
    const which = quantisation === undefined ? {} : { quantisation: quantisation.toUpperCase() };
    if (more.length > 0 || quantisation === '') throw wrong(ref, 'there is a colon too many');
    return hub(`${owner}/${repo}`, revision, path.length > 0 ? path.join('/') : undefined, which, ref);
}

/** A page of Hugging Face's is as good as a reference; other addresses are those of files. */
function parseAddress(url: URL, endpoint: URL): Reference {
    const hosts = [endpoint.host, 'huggingface.co', 'www.huggingface.co', 'hf.co'];
    if (/^(www\.)?ollama\.com$/.test(url.host)) {
        const path = url.pathname.replace(/^\/(?:library\/)?/, '').replace(/\/+$/, '');
        const name = tryParseModelName(path);
        if (name) return { kind: 'ollama', name };
    }
    if (!hosts.includes(url.host)) return { kind: 'url', url };
    let segments: string[];
    try {
        segments = url.pathname.split('/').filter((segment) => segment !== '').map(decodeURIComponent);
    } catch {
        return { kind: 'url', url };
    }
    const [owner = '', name = '', verb, revision, ...path] = segments;
    const ref = url.href;
    const reserved = ['api', 'datasets', 'spaces', 'docs', 'models', 'blog', 'collections', 'papers'];
    if (!part.test(owner) || reserved.includes(owner)) return { kind: 'url', url };
    const [repo = '', quantisation] = name.split(':'); // hf.co/OWNER/REPO:Q4_0, as Ollama spells it
    const which = quantisation ? { quantisation: quantisation.toUpperCase() } : {};
    if (verb === undefined) return hub(`${owner}/${repo}`, undefined, undefined, which, ref);
    if (!['resolve', 'blob', 'raw', 'tree'].includes(verb) || revision === undefined) return { kind: 'url', url };
    const file = verb === 'tree' || path.length === 0 ? undefined : path.join('/');
    return hub(`${owner}/${repo}`, checkRevision(revision, ref), file, which, ref);
}

function hub(
    repository: string,
    revision: string | undefined,
    file: string | undefined,
    which: { quantisation?: string },
    ref: string,
): HubReference {
    if (!isRepository(repository)) throw wrong(ref, `'${repository}' is not the name of a repository (OWNER/REPO)`);
    if (file !== undefined && !isFilePath(file)) throw wrong(ref, 'that is not a path of a file in a repository');
    if (file !== undefined && !/\.gguf$/i.test(file)) throw wrong(ref, 'only GGUF files can be used (….gguf)');
    return {
        kind: 'huggingface',
        repository,
        ...(revision === undefined ? {} : { revision }),
        ...(file === undefined ? {} : { file }),
        ...which,
    };
}

export function isRepository(text: string): boolean {
    const [owner = '', name = '', ...more] = text.split('/');
    return more.length === 0 && part.test(owner) && part.test(name) && !/\.\.|--\.|\.git$/.test(text);
}

/** Of a file in a repository: it becomes a part of addresses and is shown to people. */
export function isFilePath(text: string): boolean {
    if (text.length > 512 || /[\u0000-\u001f\u007f\\]/.test(text)) return false;
    return text.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

function checkRevision(revision: string, ref: string): string {
    const plain = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/.test(revision) && !/\.\.|\/\/|\/$/.test(revision);
    if (!plain) throw wrong(ref, `'${revision}' is not the name of a revision`);
    return revision;
}

function ollamaName(text: string, ref: string): ModelName {
    const name = tryParseModelName(text);
    if (!name) throw wrong(ref, 'that is not an Ollama name like gemma4:e2b');
    return name;
}

function wrong(text: string, why: string): LapidaryError {
    const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
    const forms = 'write a name (e2b), hf:OWNER/REPO, hf:OWNER/REPO/FILE.gguf, or an address';
    return new LapidaryError('invalid_argument', `'${shown}' names no model: ${why}; ${forms}`);
}
