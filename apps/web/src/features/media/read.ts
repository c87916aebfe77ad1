// A file → a part of a message, with its bytes in this browser's store. What only the browser can decode becomes something that
// every decoder reads: AVIF a PNG, M4A a WAV file, a film pictures of it.
import type { SampleFrames } from '../../shell/feature.js';
import { keepFile } from '../../store/media.js';
import type { Part } from '../../store/parts.js';
import { wavFile } from './wav.js';

const largest = 256 * 1024 * 1024;

export async function read(file: File, signal: AbortSignal, sample: SampleFrames): Promise<Part[]> {
    if (file.type.startsWith('video/')) return [await (await import('./film.js')).readFilm(file, signal, sample)];
    if (file.size > largest) throw new Error(`${file.name} is larger than 256 MB.`);
    const head = String.fromCharCode(...new Uint8Array(await file.slice(0, 12).arrayBuffer()));
    if (file.type.startsWith('audio/')) {
        const readable = /^(RIFF|fLaC|OggS|ID3|\xff)/.test(head);
        return [{ type: 'audio', file: await keepFile(readable ? file : await asWav(file)) }];
    }
    const picture = head.startsWith('ftypavi', 4) ? await asPng(file) : file;
    return [{ type: 'image', file: await keepFile(picture), detail: 'auto' }];
}

async function asPng(file: File): Promise<File> {
    try {
        const bitmap = await createImageBitmap(file);
        const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
        canvas.getContext('2d')?.drawImage(bitmap, 0, 0);
        return new File([await canvas.convertToBlob({ type: 'image/png' })], file.name, { type: 'image/png' });
    } catch (cause) {
        throw new Error(`This browser cannot read ${file.name}; save it as PNG or JPEG.`, { cause });
    }
}

async function asWav(file: File): Promise<File> {
    const context = new OfflineAudioContext(1, 1, 48_000);
    try {
        const sound = await context.decodeAudioData(await file.arrayBuffer());
        const mono = new Float32Array(sound.length);
        for (let channel = 0; channel < sound.numberOfChannels; channel++) {
            const samples = sound.getChannelData(channel);
            for (let i = 0; i < mono.length; i++) mono[i]! += (samples[i] ?? 0) / sound.numberOfChannels;
        }
        return wavFile([mono], sound.sampleRate, file.name);
    } catch (cause) {
        throw new Error(`This browser cannot read ${file.name}; save it as WAV, FLAC, Ogg or MP3.`, { cause });
    }
}
