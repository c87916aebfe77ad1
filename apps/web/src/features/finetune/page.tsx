// Teach the loaded model something: examples in, an adapter out, on this device.
import { useEffect, useState } from 'preact/hooks';
import { useApp } from '../../app.js';
import type { PageProps } from '../../shell/feature.js';
import { live, resumeRun, discardRun } from './runner.js';
import { useObserved } from '../../store/observable.js';
import { settings } from '../../store/settings.js';
import { runs, startWorkshop, type Run } from '../../store/workshop.js';
import { AdapterList } from './adapters-card.js';
import { DataCard, type Draft } from './data-card.js';
import { RunCard } from './run-card.js';
import { SettingsCard, rememberSpeed } from './settings-card.js';
import { describeState } from '../../views/model-chip.js';
import { IconButton } from '../../views/icons.js';
import { notify } from '../../views/notices.js';
import { PageFrame } from '../../views/page.js';
import './finetune.css';

export function FinetunePage({ onMenu }: PageProps) {
    const { engine } = useApp();
    const state = useObserved(engine.state);
    const { useEndpoint } = useObserved(settings);
    const current = useObserved(live);
    const stored = useObserved(runs);
    const [draft, setDraft] = useState<Draft>();
    useEffect(() => {
        startWorkshop().catch(() => notify('This browser does not let the page store anything: adapters last until you leave.'));
    }, []);
    useEffect(() => {
        if (current?.state === 'finished') rememberSpeed(current.tokensPerSecond);
    }, [current?.state]);
    // Of one that does not run any more, what was stored at its end is the truth, as soon as it is stored.
    const kept = current && stored.find(({ id }) => id === current.id);
    const shown = kept && current.state !== 'running' && kept.state !== 'running' ? kept : current;
    const waiting = stored.filter(({ id, state: how }) => id !== current?.id && how !== 'finished');
    return (
        <PageFrame onMenu={onMenu} title="Fine-tune" intro="Teach the loaded model something. Everything stays on this device.">
            <p class="which">
                <span class={`dot ${state.phase}`} />
                <span>
                    <strong>{state.name || 'No model'}</strong> {describeState(state)}
                    {useEndpoint && ' · answers come from the endpoint in the settings, which adapters do not change'}
                </span>
            </p>
            {shown ? (
                <RunCard run={shown} />
            ) : (
                <>
                    <Interrupted waiting={waiting} />
                    <DataCard draft={draft} onDraft={setDraft} />
                    {draft && draft.report.examples > 0 && <SettingsCard key={draft.name + draft.file.size} draft={draft} />}
                </>
            )}
            <AdapterList />
        </PageFrame>
    );
}

/** Trainings that were paused, or whose tab was closed. */
function Interrupted({ waiting }: { waiting: readonly Run[] }) {
    const { engine } = useApp();
    if (waiting.length === 0) return null;
    return (
        <section aria-label="Unfinished trainings">
            <h2>Unfinished</h2>
            <ul class="model-list">
                {waiting.map((run) => (
                    <li key={run.id}>
                        <div>
                            <strong>{run.name}</strong>
                            <span class="faint">
                                at step {run.saved} of {run.steps} · {run.model}
                            </span>
                        </div>
                        <span class="buttons">
                            <button type="button" class="button" onClick={() => void resumeRun(engine, run.id)}>
                                Go on
                            </button>
                            <IconButton icon="trash" label={`Delete ${run.name}`} onClick={() => void discardRun(run.id)} />
                        </span>
                    </li>
                ))}
            </ul>
        </section>
    );
}
