// What a file is that somebody dropped, pasted or picked: by its first bytes, and by its name where bytes do not tell.

export type FileKind =
    /** Called a GGUF file, or is one; whether it can be used the engine says. */
    | 'model'
    | 'adapter'
    | 'picture'
    | 'sound'
    | 'video'
    | 'document'
    | 'text'
    | 'unknown';

/** Of text, more than this is not a message any more. */
export const longestText = 256 * 1024;

const lookedAt = 64 * 1024;

export async function kindOf(file: File): Promise<FileKind> {
    const name = file.name.toLowerCase();
    if (name.endsWith('.gguf') || /^sha256-[0-9a-f]{64}$/.test(name)) return 'model';
    const [media] = file.type.split('/');
    const head = new Uint8Array(await file.slice(0, lookedAt).arrayBuffer());
    if (begins(head, 'GGUF')) return 'model';
    if (media === 'image' || isPicture(head)) return media === 'image' && name.endsWith('.svg') ? 'text' : 'picture';
    if (media === 'audio') return 'sound';
    if (media === 'video') return 'video';
    if (name.endsWith('.safetensors') || (name.endsWith('.zip') && begins(head, 'PK'))) return 'adapter';
    if (begins(head, '%PDF-') || /\.(docx?|xlsx?|pptx?|odt|epub)$/.test(name)) return 'document';
    return isText(head, file.size > head.length) ? 'text' : 'unknown';
}

/** What can be told while it is still being dragged: a type, and often not even that. */
export function kindOfType(type: string): FileKind {
    const [media] = type.split('/');
    if (media === 'image') return 'picture';
    if (media === 'audio') return 'sound';
    if (media === 'video') return 'video';
    if (media === 'text' || type === 'application/json') return 'text';
    return type === 'application/pdf' ? 'document' : 'unknown';
}

function begins(bytes: Uint8Array, text: string): boolean {
    return [...text].every((letter, at) => bytes[at] === letter.charCodeAt(0));
}

function isPicture(bytes: Uint8Array): boolean {
    const png = [0x89, 0x50, 0x4e, 0x47];
    const jpeg = [0xff, 0xd8, 0xff];
    return [png, jpeg].some((magic) => magic.every((byte, at) => bytes[at] === byte)) || begins(bytes, 'GIF8');
}

/** Valid UTF-8 without the control characters that no text has. */
function isText(bytes: Uint8Array, cut: boolean): boolean {
    if (bytes.length === 0) return false;
    try {
        const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: cut });
        return !/[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text);
    } catch {
        return false;
    }
}
