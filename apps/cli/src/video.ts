// Frames of a film: a folder of pictures, or any file that ffmpeg knows, if it is on the PATH. Which frames are looked at, and
// when each is, the engine says.
import { execFile } from 'node:child_process';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { LapidaryError, type VideoFrame } from 'lapidary';
import { fileError } from 'lapidary/node';

/** The engine's media.frames: which of so many, at so many a second. */
export type Sample = (frames: number, fps?: number) => Promise<{ indices: number[]; seconds: number[] }>;

export async function readVideo(file: string, sample: Sample, signal: AbortSignal): Promise<VideoFrame[]> {
    let folder: boolean;
    try {
        folder = (await fs.stat(file)).isDirectory();
    } catch (error) {
        throw fileError(error, file, 'read');
    }
    return folder ? await readFolder(file, sample) : await readFilm(file, sample, signal);
}

async function readFolder(folder: string, sample: Sample): Promise<VideoFrame[]> {
    const order = new Intl.Collator('en', { numeric: true });
    const names = (await fs.readdir(folder)).filter((name) => /\.(png|jpe?g|webp|gif)$/i.test(name)).sort(order.compare);
    if (names.length === 0) throw new LapidaryError('not_found', `'${folder}' has no pictures in it that could be frames`);
    const { indices, seconds } = await sample(names.length);
    return await Promise.all(
        indices.map(async (index, i) => ({ image: await fs.readFile(path.join(folder, names[index] ?? '')), seconds: seconds[i] ?? 0 })),
    );
}

/** As ffprobe tells them: packets are frames. */
interface Probed {
    streams?: { nb_read_packets?: string; avg_frame_rate?: string }[];
}

async function readFilm(file: string, sample: Sample, signal: AbortSignal): Promise<VideoFrame[]> {
    // A name that begins with a dash or looks like an address is a file all the same.
    const input = `file:${path.resolve(file)}`;
    const shown = ['-show_entries', 'stream=nb_read_packets,avg_frame_rate', '-of', 'json'];
    const told = await run('ffprobe', ['-v', 'error', '-select_streams', 'v:0', '-count_packets', ...shown, input], file, signal);
    const stream = (JSON.parse(told) as Probed).streams?.[0];
    const count = Number(stream?.nb_read_packets ?? 0);
    if (!(count > 0)) throw new LapidaryError('bad_file', `'${file}' has no film in it`);
    const [over = 0, under = 0] = (stream?.avg_frame_rate ?? '').split('/').map(Number);
    const { indices, seconds } = await sample(count, over > 0 && under > 0 ? over / under : undefined);
    const work = await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-film-'));
    try {
        const wanted = indices.map((index) => `eq(n\\,${index})`).join('+');
        const pattern = path.join(work, '%05d.png');
        await run('ffmpeg', ['-v', 'error', '-i', input, '-vf', `select=${wanted}`, '-vsync', '0', '-an', pattern], file, signal);
        const names = (await fs.readdir(work)).sort();
        if (names.length === 0) throw new LapidaryError('bad_file', `no picture of '${file}' could be decoded`);
        return await Promise.all(
            names.map(async (name, i) => ({ image: await fs.readFile(path.join(work, name)), seconds: seconds[i] ?? 0 })),
        );
    } finally {
        await fs.rm(work, { recursive: true, force: true });
    }
}

async function run(program: string, args: string[], file: string, signal: AbortSignal): Promise<string> {
    return await new Promise((resolve, reject) => {
        execFile(program, args, { signal, maxBuffer: 1 << 20, timeout: 600_000 }, (error, stdout, stderr) => {
            if (!error) return resolve(stdout);
            if (signal.aborted) return reject(new LapidaryError('cancelled', 'stopped before it was finished'));
            if (error.code === 'ENOENT') {
                const why = `a film needs ${program} on the PATH, which is not there; a folder of frames needs nothing`;
                return reject(new LapidaryError('unsupported', why));
            }
            const [line = 'it does not say why'] = stderr.trim().split('\n').slice(-1);
            reject(new LapidaryError('bad_file', `'${file}' cannot be read by ${program}: ${line}`));
        });
    });
}
