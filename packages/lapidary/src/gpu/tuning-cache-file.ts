// The tuning caches of Node, of GPUs and of the CPU: a file each where the system keeps what can be found out again.
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { mostText, type TuningCache } from './tuning-cache.js';

export function diskTuningCache(
    env: Record<string, string | undefined> = process.env,
    name = 'gpus',
    surroundings = [`node ${process.version}`, env['LAPIDARY_WEBGPU']].filter(Boolean).join(' '),
): TuningCache {
    const place = () => cacheFolder(env, process.platform, os.homedir());
    return {
        surroundings,
        read: async () => {
            const file = path.join(place(), name);
            const { size } = await fs.stat(file);
            return size <= mostText ? await fs.readFile(file, 'utf8') : undefined;
        },
        write: async (text) => {
            const file = path.join(place(), name);
            await fs.mkdir(path.dirname(file), { recursive: true });
            const made = `${file}.${process.pid}`; // another process may write at the same time
            try {
                await fs.writeFile(made, text);
                await fs.rename(made, file);
            } catch (error) {
                await fs.rm(made, { force: true });
                throw error;
            }
        },
    };
}

/** LAPIDARY_CACHE, or where the system wants such things. */
export function cacheFolder(env: Record<string, string | undefined>, platform: string, home: string): string {
    if (env['LAPIDARY_CACHE']) return env['LAPIDARY_CACHE'];
    if (platform === 'win32') return path.join(env['LOCALAPPDATA'] || path.join(home, 'AppData', 'Local'), 'lapidary');
    if (platform === 'darwin') return path.join(home, 'Library', 'Caches', 'lapidary');
    const told = env['XDG_CACHE_HOME'];
    // A relative one is to be ignored, says the specification.
    return path.join(told && path.isAbsolute(told) ? told : path.join(home, '.cache'), 'lapidary');
}
