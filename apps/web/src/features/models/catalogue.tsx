// The models that are offered by name, with what each would cost on this device, before anything is downloaded.
import { catalogue, predict, recommend, type CatalogueEntry, type ResolvedModel } from 'lapidary/hub';
import type { Probe } from 'lapidary';
import { useState } from 'preact/hooks';
import { useApp } from '../../app.js';
import { inOrder, rowState } from './row-state.js';
import type { Library } from './library.js';
import { useObserved } from '../../store/observable.js';
import { useTask } from '../../views/use-task.js';
import { LicencePanel } from './licence.js';
import { ModelRow } from './row.js';
import * as words from './words.js';

/** What has to be downloaded. */
export const offered: readonly CatalogueEntry[] = catalogue.filter(
    ({ sources, abilities }) => abilities.includes('chat') && sources.every(({ kind }) => kind !== 'builtin'),
);

export function Catalogue({ probe, library }: { probe: Probe | undefined; library: Library }) {
    const [everything, setEverything] = useState(false);
    const recommended = probe && recommend(offered, probe)?.id;
    const { kept = [], transfers } = useObserved(library.view);
    const fits = (entry: CatalogueEntry) =>
        !probe || predict(entry.bytes, probe).fits || kept.some(({ name }) => name === entry.id) || transfers.has(entry.id);
    const shown = inOrder(offered, recommended).filter((entry) => everything || fits(entry));
    const gpu = probe?.backend === 'gpu';
    return (
        <section>
            <div class="section-head">
                <h2>{words.getGemma}</h2>
                {probe && <span class="faint">{words.forThisDevice(gpu, predict(largest.bytes, probe).available)}</span>}
                <span class="seg" role="radiogroup" aria-label={words.which}>
                    {[false, true].map((all) => (
                        <button
                            key={String(all)}
                            type="button"
                            role="radio"
                            aria-checked={everything === all}
                            onClick={() => setEverything(all)}
                        >
                            {all ? words.all : words.fitsHere}
                        </button>
                    ))}
                </span>
            </div>
            {shown.length > 0 && (
                <ul class="list">
                    <li class="model head" aria-hidden="true">
                        {words.columns.map((name) => (
                            <span key={name}>{name}</span>
                        ))}
                    </li>
                    {shown.map((entry) => (
                        <CatalogueRow
                            key={entry.id}
                            entry={entry}
                            probe={probe}
                            library={library}
                            best={entry.id === recommended}
                        />
                    ))}
                </ul>
            )}
            {shown.length === 0 && (
                <div class="say-so">
                    <div>
                        <p>{words.nothingFits(gpu)}</p>
                        {!gpu && (
                            <details>
                                <summary>{words.howToGpu}</summary>
                                <p>{words.noGpuHelp}</p>
                            </details>
                        )}
                    </div>
                </div>
            )}
        </section>
    );
}

const largest = offered.at(-1) ?? { bytes: { about: 0, table: 0, conversation: 0, read: 0 } };

interface RowProps {
    entry: CatalogueEntry;
    probe: Probe | undefined;
    library: Library;
    best: boolean;
}

function CatalogueRow({ entry, probe, library, best }: RowProps) {
    const { id, title, about, bytes } = entry;
    const prediction = probe && predict(bytes, probe);
    const flow = useGetting(library, id);
    const state = useRowState(library, id, prediction);
    return (
        <ModelRow
            title={title}
            about={words.about(about)}
            bytes={bytes.about}
            prediction={prediction}
            state={state}
            actions={flow.actions}
            asking={flow.open && state.is === 'offered'}
            pills={
                <>
                    {best && <span class="pill own">{words.bestHere}</span>}
                    {prediction?.verdict === 'tight' && <span class="pill warn">{words.tight}</span>}
                </>
            }
        >
            {flow.open && state.is === 'offered' && <LicencePanel {...flow.panel} />}
        </ModelRow>
    );
}

/** The state of a row, drawn again when something changes. */
export function useRowState(library: Library, name: string, prediction: ReturnType<typeof predict> | undefined) {
    const { engine } = useApp();
    const { phase, wish } = useObserved(engine.state);
    const { transfers, keeps } = useObserved(library.view);
    const choice = wish?.choice;
    const answering = phase === 'ready' && choice?.kind === 'kept' && choice.name === name;
    return rowState({ prediction, presence: library.presence(name), transfer: transfers.get(name), answering, keeps });
}

/** From "Get" over the licence to the download, and everything else that a row's button does. */
export function useGetting(library: Library, name: string, reference = name) {
    const app = useApp();
    const [open, setOpen] = useState(false);
    const asked = useTask<ResolvedModel>();
    const ask = () => asked.run(async (signal) => await library.resolve(reference, signal));
    const actions = {
        get: () => {
            setOpen(true);
            ask();
        },
        pause: () => library.pause(name),
        resume: () => void library.resume(name),
        use: () => app.loadModel({ kind: 'kept', name, title: library.titleOf(name) }),
        remove: () => void library.remove(name),
    };
    const panel = {
        asked,
        onAgain: ask,
        onAgree: (model: ResolvedModel) => {
            setOpen(false);
            library.get(model);
        },
        onClose: () => setOpen(false),
    };
    return { open, actions, panel };
}
