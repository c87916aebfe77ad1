// Files that messages hold, in this browser: each once, under its digest, however many messages show it.
import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import type { StoredFile } from './parts.js';

interface Schema extends DBSchema {
    files: { key: string; value: Blob };
}

async function database(): Promise<IDBPDatabase<Schema>> {
    return await openDB<Schema>('lapidary-media', 1, {
        upgrade: (created) => void created.createObjectStore('files'),
        blocking: (_current, _wanted, event) => (event.target as IDBDatabase).close(),
    });
}

export async function keepFile(file: File): Promise<StoredFile> {
    const digest = await digestOf(file);
    const db = await database();
    try {
        // A copy: what was picked may change on the disk, and not every browser stores a reference to it.
        await db.put('files', new Blob([await file.arrayBuffer()], { type: file.type }), digest);
    } finally {
        db.close();
    }
    return { digest, name: file.name, type: file.type, bytes: file.size };
}

/** Undefined when this browser does not have it any more. */
export async function keptFile(digest: string): Promise<Blob | undefined> {
    const db = await database();
    try {
        return await db.get('files', digest);
    } finally {
        db.close();
    }
}

/** Throws away what nobody in `used` names. */
export async function sweepFiles(used: ReadonlySet<string>): Promise<void> {
    const db = await database();
    try {
        const change = db.transaction('files', 'readwrite');
        for (const digest of await change.store.getAllKeys()) if (!used.has(digest)) await change.store.delete(digest);
        await change.done;
    } finally {
        db.close();
    }
}

async function digestOf(file: Blob): Promise<string> {
    const subtle = crypto.subtle as SubtleCrypto | undefined;
    // On a page that is not secure a name that is nobody else's must do.
    const bytes = subtle
        ? new Uint8Array(await subtle.digest('SHA-256', await file.arrayBuffer()))
        : crypto.getRandomValues(new Uint8Array(32));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** For who takes a conversation along. What is not here any more is left out. */
export async function inBase64(files: readonly StoredFile[]): Promise<Record<string, { type: string; data: string }>> {
    const out: Record<string, { type: string; data: string }> = {};
    for (const { digest, type } of files) {
        const blob = out[digest] ? undefined : await keptFile(digest);
        if (blob) out[digest] = { type, data: await base64Of(blob) };
    }
    return out;
}

export async function base64Of(blob: Blob): Promise<string> {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    let text = '';
    for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    return btoa(text);
}
