// The little that a model store needs of a file system, so that it works over a disk and, in a browser, over a folder
// the person picked. Paths are lists of names below one root; nobody can ask for something outside it.
import type { ByteSource } from '../sources/source.js';

export interface DirectoryEntry {
    name: string;
    kind: 'file' | 'directory';
}

export interface Directory {
    /** For people: where it is. */
    readonly label: string;
    /** The entries of a folder, in any order; none when there is no such folder. */
    list(path: readonly string[]): Promise<DirectoryEntry[]>;
    /** Undefined when there is no such file. */
    open(path: readonly string[]): Promise<ByteSource | undefined>;
}

/** A name that stays in its folder. Store code checks its names more strictly; this is the last fence. */
export function isPlainName(name: string): boolean {
    return name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);
}
