import { Lapidary, type CheckReport, type Probe } from 'lapidary';
import { useEffect, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import type { Diagnostics, EngineState, SelfTest } from '../engine/protocol.js';
import { useObserved } from '../store/observable.js';
import { CopyButton } from './copy.js';
import { formatBytes, formatCount } from './format.js';
import { describeState } from './model-chip.js';
import { Facts, PageFrame, type PageProps } from './page.js';
import { useTask } from './use-task.js';

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
                    disabled={test.running || state.phase !== 'ready'}
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
                        disabled={!report.result?.probe?.gpu}
                        onClick={() => {
                            setChecked({ done: 0, total: 0 });
                            kernels.run(async (signal) => await Lapidary.check({}, { signal, onProgress: setChecked }));
                        }}
                    >
                        Check every kernel
                    </button>
                )}
            </p>
            {kernels.running && (
                <p>
                    <progress max={checked.total || 1} value={checked.done} aria-label="Checking every kernel" />{' '}
                    <span class="faint">
                        {checked.total === 0 ? 'Fetching the workshop…' : `${checked.done} of ${checked.total} cases`}
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

function engineFacts(state: EngineState, standing: string): [string, string][] {
    const { info, name, wish } = state;
    const facts: [string, string][] = [
        ['Model', name || 'none'],
        ['State', describeState(state)],
        ['Where', standing === 'guest' ? 'in another tab of this browser' : 'in this tab'],
    ];
    if (wish) facts.push(['Asked for', `backend ${wish.backend}`]);
    if (info) facts.push(['Chosen', `${info.backend}: ${info.why}`], ['Worker', info.worker ? 'yes' : 'no']);
    if (info?.adapter) facts.push(['Adapter', info.adapter]);
    return facts;
}

function memoryFacts(state: EngineState, report: Report | undefined): [string, string][] {
    const facts: [string, string][] = [];
    const { info } = state;
    if (info) {
        facts.push([`Weights on the ${info.backend.toUpperCase()}`, formatBytes(info.weightBytes)]);
        facts.push(['Context', `${formatCount(info.contextLength)} tokens × ${info.maxConversations} conversations`]);
        const memory = info.description['memory'];
        if (typeof memory === 'object' && memory !== null) {
            for (const [key, bytes] of Object.entries(memory)) {
                if (typeof bytes === 'number') facts.push([key.replaceAll('_', ' '), formatBytes(bytes)]);
            }
        }
    }
    const heap = (performance as { memory?: { usedJSHeapSize: number } }).memory;
    if (heap) facts.push(['Scripts of this page', formatBytes(heap.usedJSHeapSize)]);
    if (report?.storage.usage !== undefined) facts.push(['Stored in this browser', formatBytes(report.storage.usage)]);
    return facts;
}

function ProbeSection({ probe }: { probe: Probe | undefined }) {
    if (!probe) return null;
    const { gpu } = probe;
    const facts: [string, string][] = [
        ['WebGPU', probe.webgpu ? 'yes' : 'not in this browser: the CPU computes'],
        ['Private file system', probe.opfs ? 'yes' : 'no'],
        ['Workers', probe.workers ? 'yes' : 'no'],
        ['Memory (a guess)', formatBytes(probe.estimatedMemory)],
    ];
    if (gpu) {
        facts.push(['Adapter', gpu.adapter + (gpu.software ? ' (software)' : '')], ['Features', gpu.features.join(', ')]);
        facts.push(['Largest buffer', formatBytes(gpu.limits.maxBufferSize)]);
        if (gpu.bandwidth !== undefined) facts.push(['Memory bandwidth', `${formatBytes(gpu.bandwidth)}/s`]);
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
                {adapter}, in {(ms / 1000).toFixed(1)} s.
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
