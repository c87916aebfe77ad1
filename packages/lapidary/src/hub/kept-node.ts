// The models kept on this computer, for Node.
import os from 'node:os';
import path from 'node:path';
import { DiskFs } from '../cache/disk.js';
import { findEntry } from '../catalogue/catalogue.js';
import { KeptModels } from './kept.js';

/** Those in `folder`: LAPIDARY_MODELS, or where the system wants such things, unless told. */
export function keptModelsHere(folder: string = modelsFolder()): KeptModels {
    return new KeptModels(new DiskFs(folder), undefined, (name) => findEntry(name)?.id);
}

export function modelsFolder(
    env: Record<string, string | undefined> = process.env,
    platform: string = process.platform,
    home: string = os.homedir(),
): string {
    if (env['LAPIDARY_MODELS']) return env['LAPIDARY_MODELS'];
    if (platform === 'win32') return path.join(env['LOCALAPPDATA'] || path.join(home, 'AppData', 'Local'), 'lapidary', 'models');
    if (platform === 'darwin') return path.join(home, 'Library', 'Application Support', 'lapidary', 'models');
    const told = env['XDG_DATA_HOME'];
    // A relative one is to be ignored, says the specification.
    return path.join(told && path.isAbsolute(told) ? told : path.join(home, '.local', 'share'), 'lapidary', 'models');
}

/** Where the bytes of a file are, for people and other programs. */
export function keptPath(key: string, folder: string = modelsFolder()): string {
    return new DiskFs(folder).pathOf(`${key}.data`);
}
