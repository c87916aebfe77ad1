import { Lapidary, type CheckReport, type Probe } from 'lapidary';
import { useEffect, useId, useState } from 'preact/hooks';
import { useApp } from '../../app.js';
import type { Diagnostics, EngineState, SelfTest } from '../../engine/protocol.js';
import type { PageProps } from '../../shell/feature.js';
import { useObserved } from '../../store/observable.js';
import { CopyButton } from '../../views/copy.js';
import { formatBytes, formatCount } from '../../views/format.js';
import { describeState } from '../../views/model-chip.js';
import { Facts, PageFrame } from '../../views/page.js';
import { useTask } from '../../views/use-task.js';

interface Report extends Diagnostics {
    storage: { usage?: number; quota?: number };
}

export function DiagnosticsPage({ onMenu }: PageProps) {
    const { engine } = useApp();
    const standing = useObserved(engine.standing);
    const state = useObserved(engine.state);
    const report = useTask<Report>();
    const test = useTask<SelfTest[]>();
    const kernels = useTask<CheckReport>();
    const [checked, setChecked] = useState({ done: 0, total: 0 });
    const look = () =>
        report.run(async () => {
            const told = await engine.call('diagnostics', undefined);
            return { ...told, storage: (await navigator.storage?.estimate?.()) ?? {} };
        });
    useEffect(look, [state.phase]);
    const probe = report.result?.probe;
    const noTest = whyNoTest(state);
    const noKernels = probe && !probe.gpu ? 'There is no GPU whose kernels could be checked.' : undefined;
    const reasonsId = useId();
    const all = { ...report.result, standing, selfTest: test.result, kernels: kernels.result, page: pageFacts() };
    return (
        <PageFrame
            onMenu={onMenu}
            title="Diagnostics"
            intro="What this device offers, what the engine does with it, and what it said."
        >
            <p class="buttons">
                <CopyButton text={JSON.stringify(all, null, 2)} label="Copy everything as JSON" words="Copy everything" />
                <button type="button" class="button" onClick={look}>
                    Look again
                </button>
                <button
                    type="button"
                    class="button"
                    disabled={test.running || noTest !== undefined}
                    aria-describedby={noTest && reasonsId}
                    onClick={() => test.run(async (signal) => await engine.call('selfTest', undefined, undefined, signal))}
                >
                    {test.running ? 'Testing…' : 'Run the self-test'}
                </button>
                {kernels.running ? (
                    <button type="button" class="button" onClick={kernels.stop}>
                        Stop checking
                    </button>
                ) : (
                    <button
                        type="button"
                        class="button"
                        disabled={!probe?.gpu}
                        aria-describedby={noKernels && reasonsId}
                        onClick={() => {
                            setChecked({ done: 0, total: 0 });
                            kernels.run(async (signal) => await Lapidary.check({}, { signal, onProgress: setChecked }));
                        }}
                    >
                        Check every kernel
                    </button>
                )}
            </p>
            {(noTest ?? noKernels) !== undefined && (
                <p class="faint reasons" id={reasonsId}>
                    {[noTest, noKernels].filter(Boolean).join(' ')}
                </p>
            )}
            {kernels.running && (
                <p>
                    <progress max={checked.total || 1} value={checked.done} aria-label="Checking every kernel" />{' '}
                    <span class="faint">
                        {checked.total === 0 ? 'Fetching the checks…' : `${checked.done} of ${checked.total} cases`}
                    </span>
                </p>
            )}
            {kernels.problem && <p class="problem">{kernels.problem}</p>}
            {kernels.result && <KernelResult report={kernels.result} />}
            {report.problem && <p class="problem">{report.problem}</p>}
            {test.problem && <p class="problem">{test.problem}</p>}
            {test.result && <SelfTestResult tests={test.result} />}
            <section>
                <h2>Engine</h2>
                <Facts facts={engineFacts(state, standing)} />
            </section>
            {report.result && <ProbeSection probe={report.result.probe} />}
            <section>
                <h2>Memory</h2>
                <Facts facts={memoryFacts(state, report.result)} />
            </section>
            <section>
                <h2>Log</h2>
                <pre class="json" tabIndex={0} aria-label="Log">
                    {report.result?.log.join('\n') || 'Nothing was said.'}
                </pre>
            </section>
        </PageFrame>
    );
}

function whyNoTest({ phase }: EngineState): string | undefined {
    if (phase === 'ready') return undefined;
    return phase === 'loading'
        ? 'The self-test waits until the model is loaded.'
        : 'The self-test needs a model: load one on Models.';
}

const wishes = { auto: 'the GPU if there is one, else the CPU', gpu: 'the GPU', cpu: 'the CPU' };

function engineFacts(state: EngineState, standing: string): [string, string][] {
    const { info, name, wish } = state;
    const facts: [string, string][] = [
        ['Model', name || 'none'],
        ['State', state.phase === 'ready' ? 'ready' : describeState(state)],
        ['Runs in', standing === 'guest' ? 'another tab of this browser' : 'this tab'],
    ];
    if (wish) facts.push(['Asked for', wishes[wish.backend]]);
    if (info) {
        facts.push(['Runs on', `the ${info.backend.toUpperCase()}: ${info.why}`]);
        facts.push(['Beside the page', info.worker ? 'yes, in a thread of its own' : 'no, in the page itself']);
    }
    if (info?.adapter) facts.push(['GPU in use', info.adapter]);
    return facts;
}

function memoryFacts(state: EngineState, report: Report | undefined): [string, string][] {
    const facts: [string, string][] = [];
    const { info } = state;
    if (info) {
        facts.push(['Weights', `${formatBytes(info.weightBytes)}, in the ${info.backend.toUpperCase()}’s memory`]);
        facts.push(['Context', `${formatCount(info.contextLength)} tokens for each of ${info.maxConversations} conversations`]);
        const memory = info.description['memory'];
        if (typeof memory === 'object' && memory !== null) {
            for (const [key, bytes] of Object.entries(memory)) {
                if (typeof bytes === 'number' && key !== 'weights') facts.push([memoryName(key), formatBytes(bytes)]);
            }
        }
    }
    const heap = (performance as { memory?: { usedJSHeapSize: number } }).memory;
    if (heap) facts.push(['Scripts of this page', formatBytes(heap.usedJSHeapSize)]);
    const { usage = 0 } = report?.storage ?? {};
    if (usage > 0) facts.push(['Stored in this browser', formatBytes(usage)]);
    return facts;
}

/** The engine's own names, in words. */
function memoryName(key: string): string {
    const [, what, tokens] = /^(kv_cache|total)_at_(\d+)$/.exec(key) ?? [];
    const context = `${formatCount(Number(tokens))} tokens of context`;
    if (what === 'kv_cache') return `For ${context}`;
    if (what === 'total') return `Weights and ${context}`;
    if (key === 'per_layer_embeddings') return 'Embeddings of single layers, which can stay in the file';
    const words = key.replaceAll('_', ' ');
    return words.charAt(0).toUpperCase() + words.slice(1);
}

function describeWebGpu({ webgpu, gpu }: Probe): string {
    if (!webgpu) return 'not in this browser, so the CPU computes';
    if (!gpu) return 'there, but no GPU behind it, so the CPU computes';
    return gpu.software ? 'there, but its GPU is made of software and slower than the CPU' : 'yes';
}

function ProbeSection({ probe }: { probe: Probe | undefined }) {
    if (!probe) return null;
    const { gpu } = probe;
    const facts: [string, string][] = [
        ['WebGPU', describeWebGpu(probe)],
        ['Files of the page’s own', probe.opfs ? 'yes: models are kept there' : 'no: models are fetched at every visit'],
        ['Threads', probe.workers ? 'yes' : 'no: the page halts while the model computes'],
        ['Memory for a model', `about ${formatBytes(probe.estimatedMemory)}; browsers do not tell exactly`],
    ];
    if (gpu) {
        facts.push(['GPU', gpu.adapter === 'unknown' ? 'the browser does not tell its name' : gpu.adapter]);
        facts.push(['Largest piece of its memory', formatBytes(gpu.limits.maxBufferSize)]);
        if (gpu.bandwidth !== undefined) facts.push(['Moves in its memory', `${formatBytes(gpu.bandwidth)}/s`]);
        facts.push(['It can', gpu.features.join(', ') || 'nothing beyond the common core']);
    }
    return (
        <section>
            <h2>Device</h2>
            <Facts facts={facts} />
        </section>
    );
}

function SelfTestResult({ tests }: { tests: SelfTest[] }) {
    return (
        <section aria-live="polite">
            <h2>Self-test</h2>
            <ul class="self-test">
                {tests.map(({ name, passed, detail, ms }) => (
                    <li key={name} class={passed ? 'passed' : 'problem'}>
                        <strong>{passed ? 'Passed' : 'Failed'}</strong> {name}{' '}
                        <span class="faint">
                            {detail} · {ms} ms
                        </span>
                    </li>
                ))}
            </ul>
        </section>
    );
}

function KernelResult({ report }: { report: CheckReport }) {
    const { cases, failed, adapter, ms } = report;
    const wrong = cases.filter((one) => !one.ok);
    return (
        <section aria-live="polite">
            <h2>Kernels</h2>
            <p class={failed > 0 ? 'problem' : ''}>
                {failed === 0 ? `All ${cases.length} cases are right` : `${failed} of ${cases.length} cases are wrong`} on{' '}
                {adapter || 'a GPU without a name'}, in {(ms / 1000).toFixed(1)} s.
            </p>
            <ul class="self-test">
                {wrong.map(({ kernel, format, variant, shape, error, limit, problem }) => (
                    <li class="problem">
                        <strong>{kernel}</strong> {[format, variant, shape].filter(Boolean).join(', ')}{' '}
                        <span class="faint">{problem ?? `off by ${error}, at most ${limit}`}</span>
                    </li>
                ))}
            </ul>
        </section>
    );
}

function pageFacts(): Record<string, unknown> {
    return {
        address: location.origin + location.pathname,
        userAgent: navigator.userAgent,
        secure: isSecureContext,
        offline: !navigator.onLine,
        serviceWorker: navigator.serviceWorker?.controller !== null,
    };
}
