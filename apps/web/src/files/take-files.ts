import type { App } from '../app.js';

/** Loaded when there are files: files/taking.ts. */
export async function takeFiles(app: App, files: File[], handles: Promise<FileSystemFileHandle[]>): Promise<void> {
    const taking = await import('./taking.js');
    await taking.takeFiles(app, files, handles);
}
