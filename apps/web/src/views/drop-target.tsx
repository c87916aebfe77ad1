// Things that are dropped anywhere, or pasted: files go where files/taking.ts says, text into the message.
import { useEffect, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import { giveText } from '../files/incoming.js';
import { takeFiles } from '../files/take-files.js';
import { navigate, route } from '../router.js';
import { lazyView } from './lazy-view.js';

// What it takes to say what would become of them is loaded when there is something to say.
const Veil = lazyView(async () => (await import('./drop-veil.js')).DropVeil);

export function DropTarget() {
    const app = useApp();
    const [over, setOver] = useState<readonly string[]>();
    const take = (files: File[], handles: Promise<FileSystemFileHandle[]>) => void takeFiles(app, files, handles);

    useEffect(() => {
        // Entering a child is told before leaving its parent: the difference is the number of elements we are in.
        let depth = 0;
        const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
        /** A field takes text by itself. */
        const hasText = ({ target, dataTransfer }: DragEvent) =>
            (dataTransfer?.types.includes('text/plain') ?? false) &&
            !(target instanceof Element && target.closest('input, textarea, [contenteditable]'));
        const enter = (event: DragEvent) => {
            if (!hasFiles(event)) return;
            depth++;
            const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === 'file');
            setOver(items.map(({ type }) => type));
        };
        const leave = () => {
            depth = Math.max(0, depth - 1);
            if (depth === 0) setOver(undefined);
        };
        const hover = (event: DragEvent) => {
            if (hasFiles(event) || hasText(event)) event.preventDefault();
        };
        const drop = (event: DragEvent) => {
            depth = 0;
            setOver(undefined);
            const { dataTransfer } = event;
            const files = [...(dataTransfer?.files ?? [])];
            if (files.length > 0) {
                event.preventDefault();
                return take(files, handlesOf(dataTransfer));
            }
            const text = dataTransfer?.getData('text/plain') ?? '';
            if (text === '' || !hasText(event)) return;
            event.preventDefault();
            if (route.value.page !== 'chat') navigate({ page: 'chat' });
            giveText(text);
        };
        const paste = (event: ClipboardEvent) => {
            const files = [...(event.clipboardData?.files ?? [])];
            // From a word processor there is a picture of the text beside the text.
            if (files.length === 0 || event.clipboardData?.types.includes('text/plain')) return;
            event.preventDefault();
            take(files, Promise.resolve([]));
        };
        const listeners = { dragenter: enter, dragleave: leave, dragover: hover, drop, paste } as const;
        for (const [name, listener] of Object.entries(listeners)) {
            document.addEventListener(name, listener as (event: Event) => void);
        }
        return () => {
            for (const [name, listener] of Object.entries(listeners)) {
                document.removeEventListener(name, listener as (event: Event) => void);
            }
        };
    }, []);
    return over ? <Veil types={over} /> : null;
}

type WithHandle = DataTransferItem & { getAsFileSystemHandle?: () => Promise<FileSystemHandle | null> };

/** Where the browser has them they can be opened again at the next visit. To be asked for while the event lasts. */
async function handlesOf(transfer: DataTransfer | null): Promise<FileSystemFileHandle[]> {
    const items = [...(transfer?.items ?? [])].filter(({ kind }) => kind === 'file') as WithHandle[];
    const asked = items.map((item) => item.getAsFileSystemHandle?.() ?? Promise.resolve(null));
    const handles = await Promise.all(asked.map((handle) => handle.catch(() => null)));
    return handles.filter((handle): handle is FileSystemFileHandle => handle?.kind === 'file');
}
