// Which model answers now: one line, and everything one could want to know folded behind it.
import { weightOf, predict } from 'lapidary/hub';
import type { Probe } from 'lapidary';
import { useApp } from '../../app.js';
import type { EngineState } from '../../engine/protocol.js';
import { formatBytes, formatCount, formatLarge } from '../../views/format.js';
import { describeState, loadedShare } from '../../views/model-chip.js';
import { Facts } from '../../views/page.js';
import { Memory } from './row.js';
import * as words from './words.js';

export function AnsweringNow({ state, probe }: { state: EngineState; probe: Probe | undefined }) {
    const app = useApp();
    const { phase, name, info, problem, coming, wish, measured } = state;
    const builtin = wish?.choice.kind === 'builtin';
    const stop = (
        <button type="button" class="button" onClick={() => void app.engine.call('cancel', undefined)}>
            {words.stop}
        </button>
    );
    return (
        <section aria-label={words.answeringNow}>
            <div class="section-head">
                <h2>{words.answeringNow}</h2>
            </div>
            <ul class="list">
                <li class="model current">
                    <div class="who">
                        <b dir="auto">
                            <span class={`dot ${phase}`} />
                            {name || words.noModel}
                        </b>
                        <div class="can">
                            {builtin && `${words.storyteller} `}
                            {info && words.forAllTabs(info.backend === 'gpu')}
                            {phase === 'loading' && words.about(describeState(state))}
                        </div>
                    </div>
                    <div class="size">{info && formatBytes(info.weightBytes)}</div>
                    <Memory prediction={info && probe && predict({ ...weightOf('', info.weightBytes), table: 0 }, { ...probe, backend: info.backend })} />
                    <div class="rate">
                        {measured !== undefined && (
                            <>
                                {words.tokensPerSecond(measured, true)}
                                <small>{words.measured}</small>
                            </>
                        )}
                    </div>
                    <div class="act">
                        {phase === 'loading' && stop}
                        {(phase === 'failed' || phase === 'idle') && (
                            <button type="button" class="button" onClick={() => app.loadModel({ kind: 'builtin' })}>
                                {words.loadBuiltin}
                            </button>
                        )}
                    </div>
                    {phase === 'loading' && <progress class="wide" max={1} value={loadedShare(state)} aria-label={name} />}
                    {problem !== undefined && (
                        <p class="problem wide" role="alert">
                            {problem}
                        </p>
                    )}
                    {coming && (
                        <div class="down wide">
                            <span>
                                {describeState(state)}. {words.answersBefore(name)}
                            </span>
                            {stop}
                            <progress max={coming.progress.total || 1} value={coming.progress.total ? coming.progress.done : undefined} aria-label={coming.name} />
                        </div>
                    )}
                    {info && (
                        <details class="wide">
                            <summary>{words.details}</summary>
                            <Facts
                                facts={[
                                    ['Runs on', [info.backend.toUpperCase(), info.adapter].filter(Boolean).join(' · ')],
                                    ['Because', info.why],
                                    ['Weights', formatBytes(info.weightBytes)],
                                    ['Context', `${formatCount(info.contextLength)} tokens`],
                                    ...describeFile(info.description),
                                ]}
                            />
                        </details>
                    )}
                </li>
            </ul>
        </section>
    );
}

function describeFile(description: Record<string, unknown>): [string, string][] {
    const wanted = { variant: 'Variant', parameters: 'Parameters', quantization: 'Quantisation', license: 'Licence' };
    return Object.entries(wanted).flatMap(([key, label]): [string, string][] => {
        const value = description[key];
        if (typeof value === 'number') return [[label, formatLarge(value)]];
        // "custom" says that it is none of the family, which is of no use to anybody.
        return typeof value === 'string' && value !== '' && value !== 'custom' ? [[label, value]] : [];
    });
}
