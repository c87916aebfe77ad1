// Pictures, sounds and films as parts of a message, before the engine knows them: files as they are. They stand in
// `content`, beside parts of type 'text'.
import { isObject, type JsonObject, type JsonValue } from '../json.js';
import type { AudioTower, MediaImageResult, MediaSoundResult, VisionTower } from '../messages.js';

/** The file, or an http address of it where fetching was allowed (`fetchMedia`). */
export type FileBytes = Blob | Uint8Array | string;

/** How closely a picture is looked at: 70, 280 or 1,120 tokens at most. */
export const details = ['low', 'auto', 'high'] as const;
export type Detail = (typeof details)[number];
const budgets: Record<Detail, number> = { low: 70, auto: 280, high: 1120 };

export interface ImagePart {
    type: 'image';
    image: FileBytes;
    /** For sentences about it. */
    name?: string | undefined;
    detail?: Detail | undefined;
    /** Tokens it may become, instead of `detail`: 70, 140, 280, 560 or 1,120. */
    budget?: number | undefined;
}

export interface AudioPart {
    type: 'audio';
    audio: FileBytes;
    name?: string | undefined;
}

export interface VideoFrame {
    /** A picture's file. */
    image: FileBytes;
    /** When it is seen. */
    seconds: number;
}

export interface VideoPart {
    type: 'video';
    frames: readonly VideoFrame[];
    name?: string | undefined;
    /** Tokens a frame may become: 70 unless told. */
    budget?: number | undefined;
}

export type MediaPart = ImagePart | AudioPart | VideoPart;

/** What a model with towers can take. */
export interface Senses {
    vision?: VisionTower;
    audio?: AudioTower;
}

/** What a part becomes for the model. */
export type MediaInfo =
    | ({ type: 'image' } & Pick<MediaImageResult, 'tokens' | 'width' | 'height'>)
    | ({ type: 'audio' } & Pick<MediaSoundResult, 'tokens' | 'seconds' | 'pieces'>)
    | { type: 'video'; tokens: number };

export function budgetOf({ detail, budget }: Pick<ImagePart, 'detail' | 'budget'>): number {
    return budget ?? budgets[detail ?? 'auto'];
}

/** Among the parts of a message that the engine's own JSON knows: bytes go along where messages are copied. */
export function asContent(part: MediaPart): JsonObject {
    return part as unknown as JsonObject;
}

export function asMediaPart(part: JsonValue): MediaPart | undefined {
    if (!isObject(part)) return undefined;
    const { type, image, audio, frames } = part as Record<string, unknown>;
    const here = (type === 'image' && isBytes(image)) || (type === 'audio' && isBytes(audio)) || (type === 'video' && areFrames(frames));
    return here ? (part as unknown as MediaPart) : undefined;
}

function isBytes(value: unknown): value is FileBytes {
    return value instanceof Blob || value instanceof Uint8Array || typeof value === 'string';
}

function areFrames(value: unknown): boolean {
    return Array.isArray(value) && value.every((frame: unknown) => isObject(frame) && isBytes((frame as Record<string, unknown>)['image']));
}

/** Of all messages. */
export function mediaParts(messages: readonly JsonObject[] = []): MediaPart[] {
    return messages.flatMap(({ content }) => (Array.isArray(content) ? content.flatMap((part) => asMediaPart(part) ?? []) : []));
}
