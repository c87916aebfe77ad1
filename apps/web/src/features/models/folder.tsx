// Ollama's folder: which models are in it, read in place.
import type { ListedModel, Probe } from 'lapidary';
import { predict, weightOf } from 'lapidary/hub';
import { useRef } from 'preact/hooks';
import { useApp } from '../../app.js';
import { formatBytes } from '../../views/format.js';
import { useTask } from '../../views/use-task.js';
import * as words from './words.js';

type Picker = (options?: object) => Promise<FileSystemDirectoryHandle>;

function directoryPicker(): Picker | undefined {
    return (globalThis as { showDirectoryPicker?: Picker }).showDirectoryPicker;
}

/** How this browser opens folders, if it does. */
export function folderKind(): 'picker' | 'files' | undefined {
    if (directoryPicker()) return 'picker';
    const files = 'webkitdirectory' in HTMLInputElement.prototype && matchMedia('(pointer: fine)').matches;
    return files ? 'files' : undefined;
}

export function FolderPanel({ probe }: { probe: Probe | undefined }) {
    const app = useApp();
    const task = useTask<{ directory: FileSystemDirectoryHandle | readonly File[]; models: ListedModel[] }>();
    const input = useRef<HTMLInputElement>(null);
    const pick = () => {
        const picker = directoryPicker();
        if (!picker) return input.current?.click();
        task.run(async () => {
            return await list(await picker({ id: 'ollama', mode: 'read' }));
        });
    };
    const list = async (directory: FileSystemDirectoryHandle | readonly File[]) => ({
        directory,
        models: await (await import('../../engine/folder.js')).listFolder(directory),
    });
    const use = (model: string) => {
        if (task.result) app.loadModel({ kind: 'folder', directory: task.result.directory, model });
    };
    return (
        <div class="card">
            <p>
                {words.ollamaFolderHelp} {folderKind() === 'files' && words.folderNotSent}
            </p>
            <input
                ref={(element) => {
                    input.current = element;
                    element?.setAttribute('webkitdirectory', '');
                }}
                type="file"
                hidden
                aria-label={words.ollamaFolder}
                onChange={({ currentTarget }) => {
                    const files = [...(currentTarget.files ?? [])];
                    currentTarget.value = '';
                    if (files.length > 0) task.run(async () => await list(files));
                }}
            />
            <button type="button" class="button" onClick={pick}>
                {words.pickFolder}
            </button>
            {task.problem !== undefined && (
                <p class="problem" role="alert">
                    {task.problem}
                </p>
            )}
            {task.result?.models.length === 0 && <p>{words.noModelsInFolder}</p>}
            {task.result && <FoundModels models={task.result.models} probe={probe} onLoad={use} />}
        </div>
    );
}

interface Found {
    name: string;
    bytes: number;
    parameters?: string;
    quantization?: string;
    problem?: string;
}

/** Models that are on this computer already. */
export function FoundModels(props: { models: readonly Found[]; probe: Probe | undefined; onLoad: (name: string) => void }) {
    const { models, probe, onLoad } = props;
    if (models.length === 0) return null;
    return (
        <ul class="model-list">
            {models.map(({ name, bytes, parameters, quantization, problem }) => {
                const fit = probe && predict(weightOf(name, bytes), probe);
                return (
                    <li key={name}>
                        <div>
                            <strong dir="auto">{name}</strong>
                            <span class="faint">{[parameters, quantization, formatBytes(bytes)].filter(Boolean).join(' · ')}</span>
                            {problem !== undefined && <span class="problem">{problem}</span>}
                            {problem === undefined && fit && (
                                <span class={`fit ${fit.verdict.replace(' ', '-')}`}>{words.fitWords(fit)}</span>
                            )}
                        </div>
                        <button
                            type="button"
                            class="button"
                            disabled={problem !== undefined}
                            aria-label={`${words.load} ${name}`}
                            onClick={() => onLoad(name)}
                        >
                            {words.load}
                        </button>
                    </li>
                );
            })}
        </ul>
    );
}
