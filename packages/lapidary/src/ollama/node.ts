// Ollama stores on this computer's disk, for Node.
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { LapidaryError } from '../error.js';
import { FileSource, fileError, systemCode } from '../sources/file.js';
import type { ByteSource } from '../sources/source.js';
import { isPlainName, type Directory, type DirectoryEntry } from './directory.js';
import { OllamaStore } from './store.js';

export class NodeDirectory implements Directory {
    constructor(readonly label: string) {}

    async list(parts: readonly string[]): Promise<DirectoryEntry[]> {
        const folder = this.resolve(parts);
        try {
            const entries = await fs.readdir(folder, { withFileTypes: true });
            return await Promise.all(
                entries.map(async (entry): Promise<DirectoryEntry> => {
                    // People link stores to larger disks: what counts is what a link points to.
                    const isFolder = entry.isSymbolicLink()
                        ? await isDirectory(path.join(folder, entry.name))
                        : entry.isDirectory();
                    return { name: entry.name, kind: isFolder ? 'directory' : 'file' };
                }),
            );
        } catch (error) {
            if (isMissing(error)) return [];
            throw fileError(error, folder, 'read');
        }
    }

    async open(parts: readonly string[]): Promise<ByteSource | undefined> {
        const file = this.resolve(parts);
        if (await isDirectory(file)) return undefined;
        try {
            return await FileSource.open(file);
        } catch (error) {
            if (error instanceof LapidaryError && isMissing(error.cause)) return undefined;
            throw error;
        }
    }

    private resolve(parts: readonly string[]): string {
        if (!parts.every(isPlainName)) {
            throw new LapidaryError('invalid_argument', `'${parts.join('/')}' is not a path inside ${this.label}`);
        }
        return path.join(this.label, ...parts);
    }
}

async function isDirectory(file: string): Promise<boolean> {
    try {
        return (await fs.stat(file)).isDirectory();
    } catch {
        return false; // a link that points nowhere
    }
}

function isMissing(error: unknown): boolean {
    const code = systemCode(error);
    return code === 'ENOENT' || code === 'ENOTDIR';
}

export interface Surroundings {
    env: Record<string, string | undefined>;
    platform: string;
    home: string;
}

/** Where Ollama may keep its models, best guess first. OLLAMA_MODELS is an order, not a guess: then only there. */
export function storeCandidates({ env, platform, home }: Surroundings): string[] {
    const told = env['OLLAMA_MODELS'];
    if (told) return [told];
    const join = platform === 'win32' ? path.win32.join : path.posix.join;
    const homes = [platform === 'win32' ? (env['USERPROFILE'] ?? home) : home];
    // As a system service Ollama runs as its own user, whose home depends on who packaged it.
    if (platform === 'linux') homes.push('/usr/share/ollama', '/var/lib/ollama');
    return homes.map((folder) => join(folder, '.ollama', 'models'));
}

export function thisComputer(): Surroundings {
    return { env: process.env, platform: process.platform, home: os.homedir() };
}

/** The stores that exist. */
export async function findStores(surroundings: Surroundings = thisComputer()): Promise<OllamaStore[]> {
    const stores: OllamaStore[] = [];
    for (const folder of storeCandidates(surroundings)) {
        if (await isDirectory(path.join(folder, 'manifests'))) stores.push(new OllamaStore(new NodeDirectory(folder)));
    }
    return stores;
}
