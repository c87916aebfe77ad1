import { useState } from 'preact/hooks';
import { useApp } from '../app.js';
import type { BenchWish } from '../engine/protocol.js';
import { useObserved } from '../store/observable.js';
import { CopyButton } from './copy.js';
import { formatBytes, formatRate } from './format.js';
import { describeState } from './model-chip.js';
import { Facts, PageFrame, type PageProps } from './page.js';
import { useTask } from './use-task.js';

const fields: { name: keyof BenchWish; label: string; max: number }[] = [
    { name: 'prompt', label: 'Tokens to read', max: 4096 },
    { name: 'decode', label: 'Tokens to write', max: 2048 },
    { name: 'runs', label: 'Runs, of which the median counts', max: 20 },
];

export function BenchPage({ onMenu }: PageProps) {
    const { engine } = useApp();
    const state = useObserved(engine.state);
    const [wish, setWish] = useState<BenchWish>({ prompt: 128, decode: 32, runs: 3 });
    const [progress, setProgress] = useState({ done: 0, total: 1 });
    const task = useTask<Record<string, unknown>>();
    const json = task.result && JSON.stringify(task.result, null, 2);
    return (
        <PageFrame onMenu={onMenu} title="Bench" intro="How fast the loaded model reads and writes on this device.">
            <form
                class="card bench"
                onSubmit={(event) => {
                    event.preventDefault();
                    setProgress({ done: 0, total: 1 });
                    task.run(async (signal) => await engine.call('bench', wish, setProgress, signal));
                }}
            >
                <p>
                    <strong>{state.name || 'No model'}</strong> {describeState(state)}
                </p>
                <div class="row">
                    {fields.map(({ name, label, max }) => (
                        <label key={name}>
                            <span>{label}</span>
                            <input
                                type="number"
                                min={1}
                                max={max}
                                required
                                value={wish[name]}
                                onInput={({ currentTarget: { valueAsNumber } }) => {
                                    setWish({ ...wish, [name]: valueAsNumber || 1 });
                                }}
                            />
                        </label>
                    ))}
                </div>
                {task.running ? (
                    <>
                        <progress max={progress.total} value={progress.done} aria-label="Measuring" />
                        <button type="button" class="button" onClick={task.stop}>
                            Stop
                        </button>
                    </>
                ) : (
                    <button type="submit" class="button primary" disabled={state.phase !== 'ready'}>
                        Measure
                    </button>
                )}
            </form>
            {task.problem && (
                <p class="problem" role="alert">
                    {task.problem}
                </p>
            )}
            {task.result && json && (
                <section aria-live="polite">
                    <div class="results">
                        <Result label="tokens/s read" value={task.result['prefill_tps']} />
                        <Result label="tokens/s written" value={task.result['decode_tps']} />
                    </div>
                    <Facts facts={factsOf(task.result)} />
                    <p class="buttons">
                        <CopyButton text={json} label="Copy the result as JSON" words="Copy JSON" />
                    </p>
                    <pre class="json" tabIndex={0}>
                        {json}
                    </pre>
                </section>
            )}
        </PageFrame>
    );
}

/** What a written token costs, as far as this device tells. */
function factsOf(result: Record<string, unknown>): [string, string][] {
    const facts: [string, string][] = [];
    const add = (name: string, label: string, words: (value: number) => string) => {
        const value = result[name];
        if (typeof value === 'number') facts.push([label, words(value)]);
    };
    add('decode_gpu_ms', 'GPU time a token', (ms) => `${ms} ms`);
    add('dispatches_per_token', 'Dispatches a token', String);
    add('submits_per_token', 'Submits a token', String);
    add('weight_bytes_per_token', 'Weights read a token', formatBytes);
    add('bytes_per_second', 'Weights read a second', formatBytes);
    add('bandwidth_share', 'Of the memory’s bandwidth', (share) => `${Math.round(share * 100)} %`);
    return facts;
}

function Result({ label, value }: { label: string; value: unknown }) {
    return (
        <p class="result">
            <strong>{typeof value === 'number' ? formatRate(value) : '–'}</strong>
            <span>{label}</span>
        </p>
    );
}
