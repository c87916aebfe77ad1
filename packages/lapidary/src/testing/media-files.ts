// Pictures and sounds of tests/data/media, and what is known of them.
import { createHash } from 'node:crypto';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pixels } from '../media/picture.js';

export const mediaFolder = fileURLToPath(new URL('../../../../tests/data/media/', import.meta.url));

export async function mediaFile(name: string): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await fs.readFile(path.join(mediaFolder, name)));
}

export interface KnownPicture {
    width: number;
    height: number;
    /** SHA-256. */
    rgb: string;
}

export async function knownPictures(): Promise<Record<string, KnownPicture>> {
    return JSON.parse(await fs.readFile(path.join(mediaFolder, 'coded', 'pictures.json'), 'utf8')) as Record<string, KnownPicture>;
}

export function sha256Of(bytes: Uint8Array): string {
    return createHash('sha256').update(bytes).digest('hex');
}

/** Eight bits a colour, as the engine makes them of every layout. */
export function rgbOf({ width, height, layout, data }: Pixels): Uint8Array {
    const wide = layout.endsWith('16');
    const channels = layout.startsWith('grey') ? 1 : layout.startsWith('rgba') ? 4 : 3;
    const rgb = new Uint8Array(width * height * 3);
    for (let i = 0; i < width * height; i++) {
        for (let c = 0; c < 3; c++) {
            const at = i * channels + Math.min(c, channels - 1);
            rgb[i * 3 + c] = (wide ? data[at * 2 + 1] : data[at]) ?? 0;
        }
    }
    return rgb;
}
