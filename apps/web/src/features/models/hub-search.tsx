// Looking for models on Hugging Face, or naming one by its address.
import type { Probe } from 'lapidary';
import { nameOfFile, parseReference, placesOf, predict, searchHub, weightOf, type HubModel, type HubRepository, type ResolvedModel } from 'lapidary/hub';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../../app.js';
import type { Library } from './library.js';
import { useObserved } from '../../store/observable.js';
import { settings } from '../../store/settings.js';
import { useTask } from '../../views/use-task.js';
import { useGetting, useRowState } from './catalogue.js';
import { LicencePanel } from './licence.js';
import { ModelRow } from './row.js';
import * as words from './words.js';

type Answer = { query: string; repositories: HubRepository[] } | { query: string; named: ResolvedModel };

export function HubPanel({ probe, library }: { probe: Probe | undefined; library: Library }) {
    const [query, setQuery] = useState('');
    const task = useTask<Answer>();
    const input = useRef<HTMLInputElement>(null);
    const { hub } = useObserved(settings);
    useEffect(() => input.current?.focus(), []);
    const search = () =>
        task.run(async (signal) => {
            const { endpoints } = library;
            if (parseReference(query, placesOf(endpoints)).kind === 'name') {
                return { query, repositories: await searchHub(query, { endpoints, signal }) };
            }
            return { query, named: await library.resolve(query, signal) };
        });
    return (
        <div class="card hub">
            <form
                class="search-line"
                role="search"
                onSubmit={(event) => {
                    event.preventDefault();
                    search();
                }}
            >
                <label>
                    <span>{words.searchLabel}</span>
                    <input
                        ref={input}
                        type="search"
                        required
                        placeholder="gemma 4 e2b"
                        autocomplete="off"
                        spellcheck={false}
                        value={query}
                        onInput={({ currentTarget }) => setQuery(currentTarget.value)}
                    />
                </label>
                <button type="submit" class="button primary" disabled={task.running}>
                    {words.search}
                </button>
            </form>
            <p class="faint">{words.searchPrivacy(hostOf(hub))}</p>
            {task.running && <p class="faint">{words.searching}</p>}
            {task.problem !== undefined && (
                <p class="problem" role="alert">
                    {task.problem}
                </p>
            )}
            <div aria-live="polite">
                {task.result && 'repositories' in task.result && (
                    <>
                        {task.result.repositories.length === 0 && <p>{words.searchNothing(task.result.query)}</p>}
                        <ul class="list">
                            {task.result.repositories.map((found) => (
                                <RepositoryRow key={found.repository} found={found} probe={probe} library={library} />
                            ))}
                        </ul>
                    </>
                )}
                {task.result && 'named' in task.result && (
                    <ul class="list">
                        <NamedRow key={task.result.query} model={task.result.named} probe={probe} library={library} />
                    </ul>
                )}
            </div>
            <details>
                <summary>{words.mirror}</summary>
                <label>
                    <span>{words.mirrorAbout}</span>
                    <input
                        type="url"
                        placeholder={defaultHub}
                        value={hub}
                        onChange={({ currentTarget }) => settings.update({ hub: currentTarget.value.trim() })}
                    />
                </label>
            </details>
        </div>
    );
}

const defaultHub = 'https://huggingface.co';

function hostOf(hub: string): string {
    try {
        return new URL(hub || defaultHub).host;
    } catch {
        return hub;
    }
}

interface Shared {
    probe: Probe | undefined;
    library: Library;
}

/** A repository with the file that is chosen of it. */
function RepositoryRow({ found, ...shared }: { found: HubRepository } & Shared) {
    const [file, setFile] = useState(found.models[0]?.file);
    const model = found.models.find((one) => one.file === file);
    const facts = [found.licence?.name, found.downloads === undefined ? '' : words.downloads(found.downloads)];
    if (found.readable === false || !model) {
        const why = model ? words.unreadable(found.architecture ?? '') : words.noModelInside;
        return (
            <li class="model">
                <div class="who">
                    <b dir="auto">{found.repository}</b>
                    <div class="can">{why}</div>
                </div>
            </li>
        );
    }
    return (
        <FileRow
            key={model.file}
            title={found.repository}
            about={facts.filter(Boolean).join(' · ')}
            reference={`hf:${found.repository}/${model.file}`}
            model={model}
            {...shared}
        >
            {found.models.length > 1 && (
                <label class="wide quantisation">
                    <span class="only-spoken">{words.whichFile}</span>
                    <select value={file} onChange={({ currentTarget }) => setFile(currentTarget.value)}>
                        {found.models.map((one) => (
                            <option key={one.file} value={one.file}>
                                {words.fileChoice(one.quantisation ?? one.file, one.bytes)}
                            </option>
                        ))}
                    </select>
                </label>
            )}
        </FileRow>
    );
}

interface FileRowProps extends Shared {
    title: string;
    about: string;
    reference: string;
    model: HubModel;
    children?: preact.ComponentChildren;
}

/** What it is kept as follows from its file's name. */
function FileRow({ title, about, reference, model, probe, library, children }: FileRowProps) {
    const name = nameOfFile(model.file);
    const flow = useGetting(library, name, reference);
    const prediction = probe && model.bytes !== undefined ? predict(weightOf(model.file, model.bytes), probe) : undefined;
    const state = useRowState(library, name, prediction);
    return (
        <ModelRow title={title} about={about} bytes={model.bytes} prediction={prediction} state={state} actions={flow.actions} asking={flow.open && state.is === 'offered'}>
            {children}
            {flow.open && state.is === 'offered' && <LicencePanel {...flow.panel} />}
        </ModelRow>
    );
}

/** By its address: everything is known already. Where nothing can be kept it can still be used once. */
function NamedRow({ model, probe, library }: { model: ResolvedModel } & Shared) {
    const app = useApp();
    const { name, title, files, bytes, source, reference } = model;
    const flow = useGetting(library, name, reference);
    const prediction = probe && bytes !== undefined ? predict(weightOf(files[0]?.name ?? name, bytes), probe) : undefined;
    const state = useRowState(library, name, prediction);
    const url = files[0]?.url;
    return (
        <ModelRow
            title={title}
            about={files.length > 1 ? words.files(files.length) : (model.quantisation ?? '')}
            bytes={bytes}
            prediction={prediction}
            state={state}
            actions={flow.actions}
            asking={flow.open && state.is === 'offered'}
        >
            {flow.open && state.is === 'offered' && <LicencePanel {...flow.panel} />}
            {state.is === 'no place' && source === 'url' && url !== undefined && (
                <p class="wide">
                    <button type="button" class="button" onClick={() => app.loadModel({ kind: 'url', url })}>
                        {words.loadOnce}
                    </button>
                </p>
            )}
        </ModelRow>
    );
}
