// Files that somebody dropped, pasted or picked: a model answers from then on, what a feature can attach becomes a part of
// the message, and the rest is refused with a sentence.
import type { App } from '../app.js';
import { sentence } from '../chat/answer.js';
import { attached } from '../chat/attached.js';
import { navigate, route } from '../router.js';
import type { SampleFrames } from '../shell/feature.js';
import { attacherOf } from '../shell/features.js';
import { settings } from '../store/settings.js';
import * as words from '../views/drop-words.js';
import { announce, notify } from '../views/notices.js';
import { kindOf, type FileKind } from './kind.js';

let taker: ((files: File[]) => void) | undefined;

/** Files that are no models go there, until the function that comes back is called. */
export function takeDrops(take: (files: File[]) => void): () => void {
    taker = take;
    return () => {
        if (taker === take) taker = undefined;
    };
}

export function dropsAreTaken(): boolean {
    return taker !== undefined;
}

/** The name of whoever answers. */
export function answering(app: App): string {
    const { useEndpoint, endpoint } = settings.value;
    return (useEndpoint ? endpoint.model : app.engine.state.value.name) || 'This model';
}

export async function takeFiles(app: App, files: File[], handles: Promise<FileSystemFileHandle[]>): Promise<void> {
    const kinds = await Promise.all(files.map(kindOf));
    const models = files.filter((_, at) => kinds[at] === 'model');
    if (models.length > 0) {
        app.loadFiles(models, await handles);
        if (!['chat', 'models'].includes(route.value.page)) navigate({ page: 'chat' });
        return;
    }
    if (taker) return taker(files);
    for (const [at, file] of files.entries()) await takeFile(app, file, kinds[at] ?? 'unknown');
}

async function takeFile(app: App, file: File, kind: FileKind): Promise<void> {
    const info = settings.value.useEndpoint ? undefined : app.engine.state.value.info;
    const attacher = attacherOf({ kind, name: file.name, type: file.type }, info);
    if (attacher) return await attach(app, file, attacher);
    if (kind === 'unknown') return notify(words.unknownFile(file.name));
    if (kind !== 'adapter') return notify(words.cannot(answering(app), kind));
    const open = { label: words.openSettings, run: () => navigate({ page: 'settings' }) };
    notify(words.adapterGoesTo(file.name), open);
}

async function attach(app: App, file: File, { load }: NonNullable<ReturnType<typeof attacherOf>>): Promise<void> {
    try {
        const { read } = await load();
        const sample: SampleFrames = async (film, signal) => await app.engine.call('sampleFrames', film, undefined, signal);
        const parts = await read(file, new AbortController().signal, sample);
        if (route.value.page !== 'chat') navigate({ page: 'chat' });
        const { value: where } = route;
        attached.add((where.page === 'chat' && where.conversation) || 'new', parts);
        announce(words.fileAttached(file.name));
    } catch (error) {
        notify(sentence(error));
    }
}
