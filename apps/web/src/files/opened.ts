// Handles of the files that a model was opened from, so that the next visit can ask for them again. Only some browsers
// have such handles; a file itself is never copied.
import { openDB, type DBSchema, type IDBPDatabase } from 'idb';

interface Schema extends DBSchema {
    opened: { key: string; value: FileSystemFileHandle[] };
}

const key = 'model';

/** Not in the types of TypeScript yet. */
type Asking = FileSystemFileHandle & {
    queryPermission?: (wish: { mode: 'read' }) => Promise<PermissionState>;
    requestPermission?: (wish: { mode: 'read' }) => Promise<PermissionState>;
};

async function database(): Promise<IDBPDatabase<Schema>> {
    return await openDB<Schema>('lapidary-files', 1, { upgrade: (created) => void created.createObjectStore('opened') });
}

/** False where they cannot be kept. */
export async function keepHandles(handles: readonly FileSystemFileHandle[]): Promise<boolean> {
    try {
        const db = await database();
        if (handles.length === 0) await db.delete('opened', key);
        else await db.put('opened', [...handles], key);
        db.close();
        return handles.length > 0;
    } catch {
        return false;
    }
}

export async function keptHandles(): Promise<FileSystemFileHandle[]> {
    try {
        const db = await database();
        const handles = (await db.get('opened', key)) ?? [];
        db.close();
        return handles;
    } catch {
        return [];
    }
}

/** Whether they may be read without asking; with `ask`, which needs a click, the browser asks. */
export async function mayRead(handles: readonly FileSystemFileHandle[], ask: boolean): Promise<boolean> {
    for (const handle of handles as readonly Asking[]) {
        const wish = { mode: 'read' } as const;
        const granted = async (answer: Promise<PermissionState> | undefined) => (await answer) !== 'denied' && (await answer) !== 'prompt';
        if (await granted(handle.queryPermission?.(wish))) continue;
        if (!ask || !(await granted(handle.requestPermission?.(wish)))) return false;
    }
    return true;
}

/** Throws when one is not there any more. */
export async function filesOf(handles: readonly FileSystemFileHandle[]): Promise<File[]> {
    return await Promise.all(handles.map(async (handle) => await handle.getFile()));
}
