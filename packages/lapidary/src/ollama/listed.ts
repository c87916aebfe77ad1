// A folder as a list of its files: what `<input type="file" webkitdirectory>` gives, in the browsers that cannot open folders.
import { LapidaryError } from '../error.js';
import { BlobSource } from '../sources/blob.js';
import type { ByteSource } from '../sources/source.js';
import type { Directory, DirectoryEntry } from './directory.js';

export class ListedDirectory implements Directory {
    private readonly files = new Map<string, File>();
    /** By the path of the folder, what is in it. */
    private readonly folders = new Map<string, Map<string, DirectoryEntry>>();

    private constructor(
        readonly label: string,
        files: readonly (readonly [path: string, file: File])[],
    ) {
        for (const [path, file] of files) {
            this.files.set(path, file);
            const names = path.split('/');
            names.forEach((name, depth) => {
                const folder = names.slice(0, depth).join('/');
                const entries = this.folders.get(folder) ?? new Map<string, DirectoryEntry>();
                this.folders.set(folder, entries.set(name, { name, kind: depth === names.length - 1 ? 'file' : 'directory' }));
            });
        }
    }

    /** The store among them, however far above it was picked. */
    static find(files: readonly File[]): ListedDirectory {
        const marker = '/manifests/';
        const paths = files.map((file) => file.webkitRelativePath);
        const tops = paths.filter((path) => path.includes(marker)).map((path) => path.slice(0, path.indexOf(marker)));
        const [top] = tops.sort((a, b) => a.length - b.length);
        if (top === undefined) {
            const picked = paths[0]?.split('/')[0] ?? '';
            throw new LapidaryError(
                'not_found',
                `the folder '${picked}' has no Ollama models: pick '.ollama/models', with 'manifests' and 'blobs' in it`,
            );
        }
        const inside = files.flatMap((file): [string, File][] => {
            const path = file.webkitRelativePath;
            return path.startsWith(`${top}/`) ? [[path.slice(top.length + 1), file]] : [];
        });
        return new ListedDirectory(`the folder '${top}'`, inside);
    }

    async list(path: readonly string[]): Promise<DirectoryEntry[]> {
        return [...(this.folders.get(path.join('/'))?.values() ?? [])];
    }

    async open(path: readonly string[]): Promise<ByteSource | undefined> {
        const file = this.files.get(path.join('/'));
        return file && new BlobSource(file);
    }
}

/** Whether this is such a list, and not some files that were picked one by one. */
export function isListedFolder(value: unknown): value is readonly File[] {
    return Array.isArray(value) && value.length > 0 && value.every((item) => item instanceof Blob && typeof (item as File).webkitRelativePath === 'string' && (item as File).webkitRelativePath !== '');
}
