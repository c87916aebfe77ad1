// A folder the person picked in a browser, as a store sees it.
import { LapidaryError, messageOf } from '../error.js';
import { BlobSource } from '../sources/blob.js';
import type { ByteSource } from '../sources/source.js';
import { isPlainName, type Directory, type DirectoryEntry } from './directory.js';

export class PickedDirectory implements Directory {
    constructor(
        private readonly root: FileSystemDirectoryHandle,
        readonly label: string = `the folder '${root.name}'`,
    ) {}

    /** People pick `.ollama`, its `models`, or the home above: whichever has the manifests in it. */
    static async find(picked: FileSystemDirectoryHandle): Promise<PickedDirectory> {
        for (const path of [[], ['models'], ['.ollama', 'models']]) {
            const folder = await descend(picked, path);
            if (folder && (await descend(folder, ['manifests']))) {
                return new PickedDirectory(folder, `the folder '${[picked.name, ...path].join('/')}'`);
            }
        }
        throw new LapidaryError(
            'not_found',
            `the folder '${picked.name}' has no Ollama models: pick '.ollama/models', with 'manifests' and 'blobs' in it`,
        );
    }

    async list(path: readonly string[]): Promise<DirectoryEntry[]> {
        const folder = await descend(this.root, path);
        const entries: DirectoryEntry[] = [];
        if (folder) for await (const [name, { kind }] of folder.entries()) entries.push({ name, kind });
        return entries;
    }

    async open(path: readonly string[]): Promise<ByteSource | undefined> {
        const name = path.at(-1);
        const folder = await descend(this.root, path.slice(0, -1));
        if (!folder || name === undefined || !isPlainName(name)) return undefined;
        try {
            return new BlobSource(await (await folder.getFileHandle(name)).getFile());
        } catch (error) {
            if (isMissing(error)) return undefined;
            throw readError(error, this.label);
        }
    }
}

async function descend(
    folder: FileSystemDirectoryHandle,
    path: readonly string[],
): Promise<FileSystemDirectoryHandle | undefined> {
    let here = folder;
    for (const name of path) {
        if (!isPlainName(name)) return undefined;
        try {
            here = await here.getDirectoryHandle(name);
        } catch (error) {
            if (isMissing(error)) return undefined;
            throw readError(error, `the folder '${folder.name}'`);
        }
    }
    return here;
}

function isMissing(error: unknown): boolean {
    // A TypeError is a name the file system cannot have; TypeMismatch a file where a folder was expected.
    return error instanceof Error && ['NotFoundError', 'TypeMismatchError', 'TypeError'].includes(error.name);
}

function readError(cause: unknown, where: string): LapidaryError {
    const refused = cause instanceof Error && cause.name === 'NotAllowedError';
    const why = refused ? 'the permission to read it is missing; pick it again' : messageOf(cause);
    return new LapidaryError('io', `${where} could not be read: ${why}`, { cause });
}
