// Pictures, sounds and films of messages, out of this browser's store, as the engine and as programs elsewhere take them.
import { asContent, type JsonObject, type MediaPart } from 'lapidary';
import { openAiMessage, type ChatMessage } from './backend.js';
import { base64Of, keptFile } from '../store/media.js';
import { isFile, type FilePart, type Part, type StoredFile } from '../store/parts.js';

export async function mediaPart(part: FilePart): Promise<MediaPart> {
    const { name } = part.file;
    if (part.type === 'image') return { type: 'image', image: await blobOf(part.file), name, detail: part.detail };
    if (part.type === 'audio') return { type: 'audio', audio: await blobOf(part.file), name };
    const frames = part.frames.map(async ({ file, seconds }) => ({ image: await blobOf(file), seconds }));
    return { type: 'video', frames: await Promise.all(frames), name };
}

async function blobOf({ digest, name }: StoredFile): Promise<Blob> {
    const blob = await keptFile(digest);
    if (!blob) throw new Error(`${name} is not in this browser any more; take it out of the message or attach it again.`);
    return blob;
}

/** What is seen and heard stands before the question about it. */
export async function withMedia(message: ChatMessage): Promise<JsonObject> {
    const files = (message.parts ?? []).filter(isFile);
    const parts = await Promise.all(files.map(async (part) => asContent(await mediaPart(part))));
    const said = openAiMessage(message) as JsonObject;
    return { ...said, content: [...parts, { type: 'text', text: String(said['content'] ?? '') }] };
}

/** As OpenAI's programs take them. A film is its pictures. */
export async function openAiParts({ parts = [] }: ChatMessage): Promise<JsonObject[]> {
    const out: JsonObject[] = [];
    for (const part of parts.filter(isFile)) {
        if (part.type === 'audio') {
            const { data, type } = await encoded(part.file);
            out.push({ type: 'input_audio', input_audio: { data, format: /mpeg|mp3/.test(type) ? 'mp3' : 'wav' } });
            continue;
        }
        const detail = part.type === 'image' && part.detail ? { detail: part.detail } : {};
        for (const file of pictures(part)) {
            const { data, type } = await encoded(file);
            out.push({ type: 'image_url', image_url: { url: `data:${type};base64,${data}`, ...detail } });
        }
    }
    return out;
}

/** As Ollama's do. */
export async function images(parts: readonly Part[]): Promise<string[]> {
    return await Promise.all(parts.filter(isFile).flatMap(pictures).map(async (file) => (await encoded(file)).data));
}

function pictures(part: FilePart): StoredFile[] {
    return part.type === 'video' ? part.frames.map(({ file }) => file) : [part.file];
}

async function encoded(file: StoredFile): Promise<{ data: string; type: string }> {
    return { data: await base64Of(await blobOf(file)), type: file.type || 'application/octet-stream' };
}
