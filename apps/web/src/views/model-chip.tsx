// Which model answers and how it is doing, in one line.
import { useApp } from '../app.js';
import type { EngineState, Stage, TransferProgress } from '../engine/protocol.js';
import { hrefOf } from '../router.js';
import type { Step } from '../store/conversation.js';
import { useObserved } from '../store/observable.js';
import { settings } from '../store/settings.js';
import { formatBytes, formatCount, formatDuration } from './format.js';

/** From 0 to 1. The way over the network is the longest. */
export function loadedShare({ phase, stage, progress }: EngineState): number {
    if (phase === 'ready') return 1;
    if (phase !== 'loading') return 0;
    const share = progress && progress.total > 0 ? progress.done / progress.total : 0;
    if (stage === 'download') return share * 0.6;
    return stage === 'weights' ? 0.6 + share * 0.4 : 0.6;
}

export function describeState(state: EngineState): string {
    const { phase, stage, progress, info, problem, coming } = state;
    if (phase === 'idle') return 'No model loaded';
    if (phase === 'failed') return problem ?? 'Could not be loaded';
    if (coming) return `${coming.name}: ${describeProgress(coming.stage, coming.progress)}`;
    if (phase === 'ready') return info?.backend === 'gpu' ? `on the GPU` : `on the CPU`;
    return describeProgress(stage, progress);
}

function describeProgress(stage: Stage | undefined, progress: TransferProgress | undefined): string {
    if (!progress || progress.total === 0) return 'opening…';
    const { done, total, rate, secondsLeft } = progress;
    const verb = stage === 'download' ? 'downloading' : 'loading';
    const parts = [`${verb} ${Math.floor((done / total) * 100)} % of ${formatBytes(total)}`];
    if (rate !== undefined) parts.push(`${formatBytes(Math.round(rate))}/s`);
    if (secondsLeft !== undefined && secondsLeft > 1) parts.push(`${formatDuration(secondsLeft)} left`);
    return parts.join(' · ');
}

/** What there is room for; the whole of it is the title. */
function briefly({ phase, progress }: EngineState): string | undefined {
    if (phase === 'failed') return 'could not be loaded';
    if (phase !== 'loading' || !progress || progress.total === 0) return undefined;
    return `${Math.floor((progress.done / progress.total) * 100)} %`;
}

export function ModelChip() {
    const { engine } = useApp();
    const state = useObserved(engine.state);
    const { useEndpoint, endpoint, adapters } = useObserved(settings);
    const active = adapters.filter(({ model }) => model === state.name).map(({ name }) => name);
    if (useEndpoint) {
        return (
            <a class="chip" href={hrefOf({ page: 'settings' })} title="Answers come from the endpoint in the settings">
                <span class="dot remote" />
                {endpoint.model || 'endpoint'}
            </a>
        );
    }
    const detail = describeState(state);
    return (
        <a class="chip" href={hrefOf({ page: 'models' })} title={`${[state.name, ...active].join(' + ')} ${detail}`}>
            <span class={`dot ${state.phase}`} />
            <span class="name">{[state.name || 'No model', ...active].join(' + ')}</span>
            <span class="detail">{briefly(state) ?? detail}</span>
        </a>
    );
}

export function ContextMeter({ path }: { path: readonly Step[] }) {
    const { info } = useObserved(useApp().engine.state);
    const counted = path.filter(({ message }) => (message.stats?.promptTokens ?? 0) > 0).at(-1)?.message.stats;
    const total = counted?.contextLength ?? info?.contextLength;
    if (!counted || total === undefined) return null;
    const used = counted.promptTokens + counted.completionTokens;
    const words = `${formatCount(used)} of ${formatCount(total)} tokens of context used`;
    return (
        <span class="context" title={words}>
            <meter min={0} max={total} high={total * 0.8} value={used} aria-label={words} />
            {Math.min(100, Math.round((used / total) * 100))} %
        </span>
    );
}
