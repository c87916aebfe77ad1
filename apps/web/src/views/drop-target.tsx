// A GGUF file dropped anywhere is loaded; a page may want other files.
import { useEffect, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import { navigate, route } from '../router.js';
import { Gem } from './gem.js';
import { notify } from './notices.js';

let taker: ((files: File[]) => void) | undefined;

/** Files that are no models go there, until the function that comes back is called. */
export function takeDrops(take: (files: File[]) => void): () => void {
    taker = take;
    return () => {
        if (taker === take) taker = undefined;
    };
}

export function DropTarget() {
    const app = useApp();
    const [over, setOver] = useState(false);
    useEffect(() => {
        // Entering a child is told before leaving its parent: the difference is the number of elements we are in.
        let depth = 0;
        const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
        const enter = (event: DragEvent) => {
            if (!hasFiles(event)) return;
            depth++;
            setOver(true);
        };
        const leave = () => {
            depth = Math.max(0, depth - 1);
            if (depth === 0) setOver(false);
        };
        const hover = (event: DragEvent) => {
            if (hasFiles(event)) event.preventDefault();
        };
        const drop = (event: DragEvent) => {
            depth = 0;
            setOver(false);
            const files = [...(event.dataTransfer?.files ?? [])];
            if (files.length === 0) return;
            event.preventDefault();
            const models = files.filter(({ name }) => /\.gguf$/i.test(name) || /^sha256-[0-9a-f]{64}$/.test(name));
            if (models.length === 0 && taker) return taker(files);
            if (models.length === 0) return notify(`'${files[0]?.name ?? 'This'}' is not a model: a GGUF file is needed.`);
            app.loadModel({ kind: 'files', files: models.sort((a, b) => (a.name < b.name ? -1 : 1)) });
            if (route.value.page !== 'chat') navigate({ page: 'chat' });
        };
        const listeners = { dragenter: enter, dragleave: leave, dragover: hover, drop } as const;
        for (const [name, listener] of Object.entries(listeners)) {
            document.addEventListener(name, listener as (event: Event) => void);
        }
        return () => {
            for (const [name, listener] of Object.entries(listeners)) {
                document.removeEventListener(name, listener as (event: Event) => void);
            }
        };
    }, []);
    if (!over) return null;
    return (
        <div class="drop-target">
            <Gem />
            <p>{taker ? 'Drop examples to learn from, or a GGUF file to load it' : 'Drop a GGUF file to load it'}</p>
        </div>
    );
}
