// Pictures and sounds as other programs write them → parts of ours: OpenAI's chat and responses, Anthropic's messages. Base64
// is decoded here; an address stays one, and who asked the engine for it must have allowed it to be fetched.
import { LapidaryError } from '../error.js';
import { details, type AudioPart, type Detail, type FileBytes, type ImagePart, type MediaPart } from '../media/parts.js';
import { Fields, defined, invalid } from './fields.js';

/** OpenAI's words for how closely a picture is looked at, with newer ones. */
const detailWords: Readonly<Record<string, Detail>> = { low: 'low', auto: 'auto', medium: 'auto', high: 'high', original: 'high' };

/** Undefined for a part of another kind. */
export function mediaPartOf(part: Fields): MediaPart | undefined {
    switch (part.string('type')) {
        case 'image_url': {
            const given = part.value('image_url');
            if (typeof given === 'string') return image(given, part.at('image_url'), part.value('detail'));
            const told = part.fields('image_url');
            return image(told?.string('url'), `${part.at('image_url')}.url`, told?.value('detail'));
        }
        case 'input_image':
            return image(part.string('image_url'), part.at('image_url'), part.value('detail'));
        case 'image':
            return part.value('source') === undefined ? ownImage(part) : sourced(part);
        case 'input_audio': {
            const told = part.fields('input_audio');
            told?.string('format'); // what it is, its bytes say
            return audio(told?.string('data'), `${part.at('input_audio')}.data`);
        }
        case 'audio_url': {
            const given = part.value('audio_url');
            return audio(typeof given === 'string' ? given : part.fields('audio_url')?.string('url'), part.at('audio_url'));
        }
        case 'audio': {
            const own = part.value('audio');
            if (!isBytes(own)) throw invalid(part.at('audio'), 'a Blob or a Uint8Array', own);
            return { type: 'audio', audio: own, ...defined({ name: part.string('name') }) };
        }
        case 'video':
            return ownVideo(part);
        case 'file':
        case 'input_file':
            return file(part.fields('file') ?? part);
        default:
            return undefined;
    }
}

function image(url: string | undefined, place: string, detail: unknown): ImagePart {
    if (url === undefined) throw invalid(place, 'the address of a picture, such as data:image/png;base64,…', undefined);
    const known = typeof detail === 'string' ? detailWords[detail] : undefined;
    if (detail !== undefined && !known) throw invalid(place.replace(/\.?url$/, '.detail'), `one of ${details.join(', ')}`, detail);
    return { type: 'image', image: addressed(url, place), ...defined({ detail: known }) };
}

function audio(data: string | undefined, place: string): AudioPart {
    if (data === undefined) throw invalid(place, 'a sound in base64', undefined);
    const isAddress = /^(data|https?):/i.test(data);
    return { type: 'audio', audio: isAddress ? addressed(data, place) : base64Bytes(data, place) };
}

function ownImage(part: Fields): ImagePart {
    const own = part.value('image');
    if (!isBytes(own)) throw invalid(part.at('image'), 'a Blob or a Uint8Array', own);
    const told = { name: part.string('name'), detail: part.oneOf('detail', details), budget: part.integer('budget', 70, 1120) };
    return { type: 'image', image: own, ...defined(told) };
}

/** Anthropic's. */
function sourced(part: Fields): ImagePart {
    const source = part.fields('source');
    const place = part.at('source');
    if (source?.oneOf('type', ['base64', 'url']) === 'url') return image(source.string('url'), `${place}.url`, undefined);
    const data = source?.string('data');
    if (data === undefined) throw invalid(`${place}.data`, 'a picture in base64', undefined);
    return { type: 'image', image: base64Bytes(data, `${place}.data`) };
}

function ownVideo(part: Fields): MediaPart {
    const frames = part.list('frames');
    if (!frames) throw invalid(part.at('frames'), 'a list of pictures, each with its time: { image, seconds }', undefined);
    return {
        type: 'video',
        frames: frames.map((frame, i) => {
            const told = new Fields(frame, `${part.at('frames')}[${i}]`);
            const own = told.value('image');
            if (!isBytes(own)) throw invalid(told.at('image'), 'a Blob or a Uint8Array', own);
            return { image: own, seconds: told.number('seconds', 0, Number.MAX_SAFE_INTEGER) ?? 0 };
        }),
        ...defined({ name: part.string('name'), budget: part.integer('budget', 70, 1120) }),
    };
}

/** OpenAI's `file`: what it is, its bytes say. */
function file(told: Fields): MediaPart {
    const name = told.string('filename') ?? 'the file';
    const data = told.string('file_data');
    if (data === undefined) throw new LapidaryError('unsupported', `'${told.at('file_data')}' is missing: files are sent along, not kept here`);
    const bytes = /^data:/i.test(data) ? dataUrlBytes(data, told.at('file_data')) : base64Bytes(data, told.at('file_data'));
    if (text(bytes, 0, 5) === '%PDF-') {
        throw new LapidaryError('unsupported', `${name} is a PDF file, which is not read here: send its text, or its pages as pictures`);
    }
    const isSound = /^(RIFF....WAVE|fLaC|OggS|ID3|\xff[\xe0-\xff])/s.test(text(bytes, 0, 12)) && !/^\xff\xd8/.test(text(bytes, 0, 2));
    return isSound ? { type: 'audio', audio: bytes, name } : { type: 'image', image: bytes, name };
}

function text(bytes: Uint8Array, from: number, to: number): string {
    return String.fromCharCode(...bytes.subarray(from, to));
}

function isBytes(value: unknown): value is FileBytes {
    return value instanceof Blob || value instanceof Uint8Array;
}

function addressed(url: string, place: string): FileBytes {
    if (/^data:/i.test(url)) return dataUrlBytes(url, place);
    if (/^https?:/i.test(url)) return url;
    throw invalid(place, 'a data: or http address', url);
}

export function dataUrlBytes(url: string, place: string): Uint8Array {
    const comma = url.indexOf(',');
    if (comma < 0 || !/;base64$/i.test(url.slice(0, comma))) throw invalid(place, 'a data address in base64', url);
    return base64Bytes(url.slice(comma + 1), place);
}

export function base64Bytes(data: string, place: string): Uint8Array {
    try {
        const characters = atob(data.replace(/-/g, '+').replace(/_/g, '/'));
        const bytes = new Uint8Array(characters.length);
        for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
        return bytes;
    } catch {
        throw invalid(place, 'base64', data);
    }
}
