// A film → the pictures of it that a model looks at, and when each is. The browser plays it, so it can be whatever that plays.
import type { SampleFrames } from '../../shell/feature.js';
import { keepFile } from '../../store/media.js';
import type { Part, StoredFile } from '../../store/parts.js';

/** Nothing here tells how many pictures there are in a second. */
const usualRate = 24;
/** Of the longer side: more than the tokens of a frame can show. */
const longestSide = 1024;

export async function readFilm(file: File, signal: AbortSignal, sample: SampleFrames): Promise<Part> {
    const film = document.createElement('video');
    film.muted = true;
    film.preload = 'auto';
    film.src = URL.createObjectURL(file);
    try {
        await once(film, 'loadeddata', signal);
        const { duration, videoWidth: width, videoHeight: height } = film;
        if (!(duration > 0) || !Number.isFinite(duration) || width === 0) throw new Error('it has no pictures');
        const scale = Math.min(1, longestSide / Math.max(width, height));
        const canvas = new OffscreenCanvas(Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale)));
        const wish = { frames: Math.max(1, Math.floor(duration * usualRate)), fps: usualRate };
        const { indices, seconds } = await sample(wish, signal);
        const frames: { file: StoredFile; seconds: number }[] = [];
        for (const [i, index] of indices.entries()) {
            film.currentTime = Math.min(index / usualRate, duration - 0.001);
            await once(film, 'seeked', signal);
            canvas.getContext('2d')?.drawImage(film, 0, 0, canvas.width, canvas.height);
            const picture = new File([await canvas.convertToBlob({ type: 'image/png' })], file.name, { type: 'image/png' });
            frames.push({ file: await keepFile(picture), seconds: seconds[i] ?? 0 });
        }
        const [first] = frames;
        if (!first) throw new Error('it has no pictures');
        return { type: 'video', file: first.file, seconds: duration, frames };
    } catch (cause) {
        signal.throwIfAborted();
        throw new Error(`No pictures can be taken from ${file.name} here; this browser plays ${file.type || 'such files'} not, or not whole.`, { cause });
    } finally {
        URL.revokeObjectURL(film.src);
        film.removeAttribute('src');
    }
}

async function once(film: HTMLVideoElement, name: string, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
        film.addEventListener(name, () => resolve(), { once: true, signal });
        film.addEventListener('error', () => reject(new Error('it cannot be played')), { once: true, signal });
        signal.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError')), { once: true });
    });
}
