// A training: how far it is, how the loss falls, what has changed, and what to do with it.
import { useApp } from '../../app.js';
import { discardRun, pauseRun, putAway, resumeRun } from './runner.js';
import type { Run, Sample } from '../../store/workshop.js';
import { formatDuration, formatRate } from '../../views/format.js';
import { UseInChat } from './adapters-card.js';
import { LossChart } from './loss-chart.js';

export function RunCard({ run }: { run: Run }) {
    const { state, step, steps, losses, validations, name } = run;
    const loss = losses.at(-1)?.[1];
    return (
        <section class="card run" aria-label="Training under way">
            <h2>
                <span class={`dot ${dots[state]}`} />
                {name}
            </h2>
            <progress max={Math.max(1, steps)} value={state === 'finished' ? Math.max(1, steps) : step} aria-label="Steps made" />
            <p class="run-line" role="status">
                {words(run)}
            </p>
            {run.problem && (
                <p class="problem" role="alert">
                    {run.problem}
                </p>
            )}
            {losses.length > 0 && (
                <>
                    <div class="figures">
                        <Figure label="loss" value={loss?.toFixed(3)} />
                        {validations.length > 0 && <Figure label="validation loss" value={validations.at(-1)?.[1].toFixed(3)} />}
                        <Figure label="tokens/s" value={formatRate(run.tokensPerSecond)} />
                    </div>
                    <LossChart losses={losses} validations={validations} steps={steps} />
                </>
            )}
            <Samples samples={run.samples} />
            <Buttons run={run} />
        </section>
    );
}

const dots = { running: 'loading', paused: 'idle', finished: 'ready', failed: 'failed' } as const;

function words(run: Run): string {
    const { state, step, steps, seconds, saved, samples } = run;
    const of = steps > 0 ? ` of ${steps}` : '';
    if (state === 'finished') return `Finished: ${step} steps in ${formatDuration(seconds)}.`;
    if (state === 'failed') return `Stopped at step ${step}${of}. It can go on from step ${saved}.`;
    if (state === 'paused') return `Paused at step ${step}${of}.`;
    if (step === 0 && samples.some(({ before }) => before === undefined)) return 'Asking the questions before it learns…';
    if (step === 0) return 'Getting ready…';
    if (step === steps) return 'Asking the questions again…';
    const left = (seconds / step) * (steps - step);
    return `Step ${step}${of} · about ${formatDuration(left)} left`;
}

function Figure({ label, value }: { label: string; value: string | undefined }) {
    return (
        <p class="result">
            <strong>{value ?? '–'}</strong>
            <span>{label}</span>
        </p>
    );
}

function Samples({ samples }: { samples: readonly Sample[] }) {
    const asked = samples.filter(({ before }) => before !== undefined);
    if (asked.length === 0) return null;
    return (
        <div class="samples">
            <h3>What it answers</h3>
            {asked.map(({ question, before, after }) => (
                <article key={question}>
                    <p class="question">{question}</p>
                    <div>
                        <h4>Before</h4>
                        <p>{before || '(nothing)'}</p>
                    </div>
                    <div class="after">
                        <h4>After</h4>
                        <p>{after ?? '…'}</p>
                    </div>
                </article>
            ))}
        </div>
    );
}

function Buttons({ run }: { run: Run }) {
    const { engine } = useApp();
    const discard = () => {
        if (confirm(`Throw away '${run.name}' and what it has learnt so far?`)) void discardRun(run.id);
    };
    return (
        <div class="buttons">
            {run.state === 'running' && (
                <button type="button" class="button" onClick={() => void pauseRun()}>
                    Pause
                </button>
            )}
            {(run.state === 'paused' || run.state === 'failed') && (
                <button type="button" class="button primary" onClick={() => void resumeRun(engine, run.id)}>
                    Go on
                </button>
            )}
            {run.adapter && <UseInChat id={run.adapter} primary />}
            {run.state === 'finished' ? (
                <button type="button" class="button" onClick={putAway}>
                    New training
                </button>
            ) : (
                <button type="button" class="button" onClick={discard}>
                    {run.state === 'running' ? 'Cancel' : 'Delete'}
                </button>
            )}
        </div>
    );
}
