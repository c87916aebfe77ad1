import { listServedModels, openHttp, type ListedModel, type Probe, type ServedModel } from 'lapidary';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import { builtinBytes } from '../engine/builtin.js';
import { fitOf } from '../engine/fit.js';
import type { EngineState } from '../engine/protocol.js';
import { useObserved } from '../store/observable.js';
import { CachedModels } from './cached-models.js';
import { TryGpuAgain, whyOf } from './caution.js';
import { formatBytes, formatCount, formatLarge, formatRate } from './format.js';
import { Icon } from './icons.js';
import { describeState } from './model-chip.js';
import { Facts, PageFrame, type PageProps } from './page.js';
import { useTask } from './use-task.js';

export function ModelsPage({ onMenu }: PageProps) {
    const { engine } = useApp();
    const state = useObserved(engine.state);
    const probe = useTask<Probe | undefined>();
    useEffect(() => probe.run(async () => (await engine.call('diagnostics', undefined)).probe), []);
    return (
        <PageFrame onMenu={onMenu} title="Models" intro="Which model answers. It is loaded once, for all tabs.">
            <CurrentModel state={state} />
            <section>
                <h2>Choose</h2>
                <div class="choices">
                    <BuiltinChoice current={state.wish?.choice.kind === 'builtin'} />
                    <FileChoice />
                    <FolderChoice probe={probe.result} />
                    <UrlChoice probe={probe.result} />
                </div>
            </section>
            <LocalOllama probe={probe.result} />
            <CachedModels />
            <Family probe={probe.result} />
        </PageFrame>
    );
}

function CurrentModel({ state }: { state: EngineState }) {
    const { engine } = useApp();
    const { phase, name, progress, info, problem } = state;
    if (phase === 'idle') return <p class="card">No model is loaded.</p>;
    return (
        <section class="card current" aria-label="Loaded model">
            <h2>
                <span class={`dot ${phase}`} />
                {name}
            </h2>
            {phase === 'failed' && (
                <p class="problem" role="alert">
                    {problem}
                </p>
            )}
            {phase === 'loading' && (
                <>
                    <progress
                        max={progress?.total || 1}
                        value={progress?.total ? progress.done : undefined}
                        aria-label="Loading"
                    />
                    <p>
                        {describeState(state)}{' '}
                        <button type="button" class="link" onClick={() => void engine.call('cancel', undefined)}>
                            Stop
                        </button>
                    </p>
                </>
            )}
            {state.wish?.caution === 'held' && <TryGpuAgain />}
            {info && (
                <Facts
                    facts={[
                        ['Runs on', [info.backend.toUpperCase(), info.adapter].filter(Boolean).join(' · ')],
                        ['Because', whyOf(state)],
                        ['Weights', formatBytes(info.weightBytes)],
                        ['Context', `${formatCount(info.contextLength)} tokens`],
                        ...describeFile(info.description),
                    ]}
                />
            )}
        </section>
    );
}

function describeFile(description: Record<string, unknown>): [string, string][] {
    const wanted = { variant: 'Variant', parameters: 'Parameters', quantization: 'Quantisation', license: 'Licence' };
    return Object.entries(wanted).flatMap(([key, label]): [string, string][] => {
        const value = description[key];
        if (typeof value === 'number') return [[label, formatLarge(value)]];
        return typeof value === 'string' && value !== '' ? [[label, value]] : [];
    });
}

function BuiltinChoice({ current }: { current: boolean }) {
    const app = useApp();
    return (
        <div class="card">
            <h3>
                <Icon name="cube" />
                Built-in
            </h3>
            <p>
                Storyteller, {formatBytes(builtinBytes)}: small stories for children, at once and offline. It knows no
                facts.
            </p>
            <button type="button" class="button" onClick={() => app.loadModel({ kind: 'builtin' })}>
                {current ? 'Load again' : 'Load'}
            </button>
        </div>
    );
}

function FileChoice() {
    const app = useApp();
    const input = useRef<HTMLInputElement>(null);
    return (
        <div class="card">
            <h3>
                <Icon name="file" />
                A file
            </h3>
            <p>A GGUF file of a Gemma 4 model, or all pieces of a split one. Dropping it anywhere works too.</p>
            <input
                ref={input}
                type="file"
                multiple
                hidden
                aria-label="Model file"
                onChange={({ currentTarget }) => {
                    const files = [...(currentTarget.files ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1));
                    if (files.length > 0) app.loadModel({ kind: 'files', files });
                    currentTarget.value = '';
                }}
            />
            <button type="button" class="button" onClick={() => input.current?.click()}>
                Open a file…
            </button>
        </div>
    );
}

type Picker = (options?: object) => Promise<FileSystemDirectoryHandle>;

function FolderChoice({ probe }: { probe: Probe | undefined }) {
    const app = useApp();
    const task = useTask<{ directory: FileSystemDirectoryHandle; models: ListedModel[] }>();
    const pick = (globalThis as { showDirectoryPicker?: Picker }).showDirectoryPicker;
    return (
        <div class="card">
            <h3>
                <Icon name="folder" />
                An Ollama folder
            </h3>
            <p>
                Usually <code>.ollama/models</code> in your home. Only read, never changed.
            </p>
            {pick ? (
                <button
                    type="button"
                    class="button"
                    onClick={() =>
                        task.run(async () => {
                            const directory = await pick({ id: 'ollama', mode: 'read' });
                            const { listFolder } = await import('../engine/folder.js');
                            return { directory, models: await listFolder(directory) };
                        })
                    }
                >
                    Pick a folder…
                </button>
            ) : (
                <p class="faint">This browser cannot open folders; open the file itself, or run lapidary serve.</p>
            )}
            {task.problem && <p class="problem">{task.problem}</p>}
            {task.result && (
                <ModelList
                    models={task.result.models}
                    probe={probe}
                    onLoad={(model) => {
                        const directory = task.result?.directory;
                        if (directory) app.loadModel({ kind: 'folder', directory, model });
                    }}
                />
            )}
        </div>
    );
}

function UrlChoice({ probe }: { probe: Probe | undefined }) {
    const app = useApp();
    const [url, setUrl] = useState('');
    const check = useTask<number>();
    return (
        <form
            class="card"
            onSubmit={(event) => {
                event.preventDefault();
                check.run(async (signal) => {
                    const sources = await openHttp(url, { signal });
                    await Promise.all(sources.map((source) => source.close()));
                    return sources.reduce((sum, { size }) => sum + size, 0);
                });
            }}
        >
            <h3>
                <Icon name="link" />
                An address
            </h3>
            <label>
                <span>Where the GGUF file is; its server must allow ranges and this page (CORS).</span>
                <input
                    type="url"
                    required
                    placeholder="https://…/model.gguf"
                    value={url}
                    onInput={({ currentTarget }) => {
                        setUrl(currentTarget.value);
                        check.clear();
                    }}
                />
            </label>
            {check.problem && (
                <p class="problem" role="alert">
                    {check.problem}
                </p>
            )}
            {check.result === undefined ? (
                <button type="submit" class="button" disabled={check.running}>
                    {check.running ? 'Looking…' : 'Look'}
                </button>
            ) : (
                <>
                    <p>
                        {formatBytes(check.result)} <FitMark bytes={check.result} probe={probe} />
                    </p>
                    <button type="button" class="button primary" onClick={() => app.loadModel({ kind: 'url', url })}>
                        Load
                    </button>
                </>
            )}
        </form>
    );
}

/** What the Ollama on this computer has, as the server that brought this page tells; nothing when it does not. */
function LocalOllama({ probe }: { probe: Probe | undefined }) {
    const app = useApp();
    const task = useTask<ServedModel[]>();
    useEffect(() => task.run(async (signal) => await listServedModels(location.origin, { signal })), []);
    return (
        <section>
            <h2>Ollama on this computer</h2>
            {task.result === undefined && (
                <p class="faint">
                    {task.running
                        ? 'Looking…'
                        : 'Start the app with lapidary serve to use the models that Ollama has downloaded.'}
                </p>
            )}
            {task.result?.length === 0 && <p class="faint">No models found.</p>}
            {task.result && task.result.length > 0 && (
                <ModelList
                    models={task.result}
                    probe={probe}
                    onLoad={(model) => app.loadModel({ kind: 'ollama', model })}
                />
            )}
        </section>
    );
}

interface Listed {
    name: string;
    bytes: number;
    parameters?: string;
    quantization?: string;
    problem?: string;
}

interface ModelListProps {
    models: Listed[];
    probe: Probe | undefined;
    onLoad: (name: string) => void;
}

function ModelList({ models, probe, onLoad }: ModelListProps) {
    return (
        <ul class="model-list">
            {models.map(({ name, bytes, parameters, quantization, problem }) => (
                <li key={name}>
                    <div>
                        <strong>{name}</strong>
                        <span class="faint">
                            {[parameters, quantization, formatBytes(bytes)].filter(Boolean).join(' · ')}
                        </span>
                        {problem ? <span class="problem">{problem}</span> : <FitMark bytes={bytes} probe={probe} />}
                    </div>
                    <button
                        type="button"
                        class="button"
                        disabled={problem !== undefined}
                        aria-label={`Load ${name}`}
                        onClick={() => onLoad(name)}
                    >
                        Load
                    </button>
                </li>
            ))}
        </ul>
    );
}

function FitMark({ bytes, probe }: { bytes: number; probe: Probe | undefined }) {
    if (!probe) return null;
    const { verdict, why } = fitOf(bytes, probe);
    return (
        <span class={`fit ${verdict.replace(' ', '-')}`} title={why}>
            {verdict}: {why}
        </span>
    );
}

function Family({ probe }: { probe: Probe | undefined }) {
    if (!probe || probe.models.length === 0) return null;
    return (
        <section>
            <h2>What would run here</h2>
            <div class="table-frame" tabIndex={0}>
                <table>
                    <thead>
                        <tr>
                            <th>Gemma 4</th>
                            <th>Download</th>
                            <th>Memory</th>
                            <th>Speed (estimate)</th>
                            <th>Verdict</th>
                        </tr>
                    </thead>
                    <tbody>
                        {probe.models.map((model) => (
                            <tr key={model.variant}>
                                <th scope="row">{model.variant}</th>
                                <td>{formatBytes(model.downloadBytes)}</td>
                                <td>{formatBytes(model.memoryBytes)}</td>
                                <td>
                                    {model.estimatedTokensPerSecond === undefined
                                        ? '–'
                                        : `≈ ${formatRate(model.estimatedTokensPerSecond)} tokens/s`}
                                </td>
                                <td class={`fit ${model.fits ? 'fits' : 'too-large'}`}>{model.why}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
        </section>
    );
}
