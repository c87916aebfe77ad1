import { useId, useState } from 'preact/hooks';
import { useApp } from '../../app.js';
import type { BenchWish } from '../../engine/protocol.js';
import type { PageProps } from '../../shell/feature.js';
import { benches, forgetBenches, keepBench, type Measured } from './benches.js';
import { useObserved } from '../../store/observable.js';
import { CopyButton } from '../../views/copy.js';
import { formatBytes, formatMoment, formatRate } from '../../views/format.js';
import { describeState } from '../../views/model-chip.js';
import { Facts, PageFrame } from '../../views/page.js';
import { useTask } from '../../views/use-task.js';

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
    const task = useTask<Measured>();
    const kept = useObserved(benches);
    const reasonId = useId();
    // The last one is shown in full, also when it was measured at an earlier visit.
    const result = task.result ?? kept[0];
    const json = result && JSON.stringify(result, null, 2);
    const ready = state.phase === 'ready';
    return (
        <PageFrame onMenu={onMenu} title="Bench" intro="How fast the loaded model reads and writes on this device.">
            <form
                class="card bench"
                onSubmit={(event) => {
                    event.preventDefault();
                    setProgress({ done: 0, total: 1 });
                    task.run(async (signal) => {
                        const measured = await engine.call('bench', wish, setProgress, signal);
                        keepBench(measured);
                        return measured;
                    });
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
                    <button
                        type="submit"
                        class="button primary"
                        disabled={!ready}
                        aria-describedby={ready ? undefined : reasonId}
                    >
                        Measure
                    </button>
                )}
                {!ready && !task.running && (
                    <p class="faint" id={reasonId}>
                        {state.phase === 'loading'
                            ? 'Waits until the model is loaded.'
                            : 'A model must be loaded first: choose one on Models.'}
                    </p>
                )}
            </form>
            {task.problem && (
                <p class="problem" role="alert">
                    {task.problem}
                </p>
            )}
            {result && json ? (
                <section aria-live="polite">
                    <h2 class={task.result ? 'only-spoken' : undefined}>
                        {task.result ? 'Result' : `Last result, ${describe(result)}`}
                    </h2>
                    <div class="results">
                        <Result label="tokens/s read" value={result['prefill_tps']} />
                        <Result label="tokens/s written" value={result['decode_tps']} />
                    </div>
                    <Facts facts={factsOf(result)} />
                    <p class="buttons">
                        <CopyButton text={json} label="Copy the result as JSON" words="Copy JSON" />
                    </p>
                    <details>
                        <summary>Everything that was measured</summary>
                        <pre class="json" tabIndex={0} aria-label="The result as JSON">
                            {json}
                        </pre>
                    </details>
                </section>
            ) : (
                <p class="faint">
                    What is measured is kept here, so that models and settings can be compared. It takes some seconds.
                </p>
            )}
            {kept.length > 1 && (
                <section>
                    <h2>Earlier results</h2>
                    <ul class="model-list benches">
                        {kept.slice(1).map((one, index) => (
                            <li key={index}>
                                <div>
                                    <strong>{word(one, 'model') || 'A model'}</strong>
                                    <span class="fit">{describe(one)}</span>
                                </div>
                                <span class="num">
                                    {rate(one, 'prefill_tps')} read · {rate(one, 'decode_tps')} written tokens/s
                                </span>
                            </li>
                        ))}
                    </ul>
                </section>
            )}
            {kept.length > 0 && (
                <button
                    type="button"
                    class="button"
                    onClick={() => {
                        task.clear();
                        forgetBenches();
                    }}
                >
                    Forget all results
                </button>
            )}
        </PageFrame>
    );
}

/** What a written token costs, as far as this device tells. */
function factsOf(result: Measured): [string, string][] {
    const facts: [string, string][] = [];
    const add = (name: string, label: string, words: (value: number) => string) => {
        const value = result[name];
        if (typeof value === 'number') facts.push([label, words(value)]);
    };
    add('decode_gpu_ms', 'GPU time a token', (ms) => `${ms} ms`);
    add('dispatches_per_token', 'Kernels run a token', String);
    add('submits_per_token', 'Times the GPU is asked a token', String);
    add('weight_bytes_per_token', 'Weights read a token', formatBytes);
    add('bytes_per_second', 'Weights read a second', formatBytes);
    add('bandwidth_share', 'Of the memory’s bandwidth', (share) => `${Math.round(share * 100)} %`);
    return facts;
}

/** Where and when. Results come from storage: what is missing is left out. */
function describe(one: Measured): string {
    const at = Date.parse(word(one, 'measured_at'));
    const backend = word(one, 'backend');
    return [backend && `on the ${backend.toUpperCase()}`, Number.isNaN(at) ? '' : formatMoment(at)].filter(Boolean).join(', ');
}

function word(one: Measured, name: string): string {
    const value = one[name];
    return typeof value === 'string' ? value : '';
}

function rate(one: Measured, name: string): string {
    const value = one[name];
    return typeof value === 'number' ? formatRate(value) : '–';
}

function Result({ label, value }: { label: string; value: unknown }) {
    return (
        <p class="result">
            <strong>{typeof value === 'number' ? formatRate(value) : '–'}</strong>
            <span>{label}</span>
        </p>
    );
}
