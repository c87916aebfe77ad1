// One model: what it is, what it costs, and one button. The same row stands in the list, in a search and in what is kept.
import type { Prediction } from 'lapidary/hub';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { shareOf, type RowState } from './row-state.js';
import { hrefOf } from '../../router.js';
import { formatBytes } from '../../views/format.js';
import { IconButton } from '../../views/icons.js';
import * as words from './words.js';
import '../../styles/getting.css';

export interface RowActions {
    get: () => void;
    pause: () => void;
    resume: () => void;
    use: () => void;
    /** What has arrived, or all of it. */
    remove: () => void;
}

interface ModelRowProps {
    title: string;
    about: string;
    pills?: ComponentChildren;
    bytes: number | undefined;
    prediction: Prediction | undefined;
    state: RowState;
    actions: RowActions;
    /** Its licence is open, and has the button now. */
    asking?: boolean;
    /** The licence, once it was asked for; details. */
    children?: ComponentChildren;
}

export function ModelRow({ title, about, pills, bytes, prediction, state, actions, asking = false, children }: ModelRowProps) {
    const act = useRef<HTMLDivElement>(null);
    const asked = useRef(false);
    // Who says "not now" is where they were.
    useEffect(() => {
        if (asked.current && !asking) act.current?.querySelector('button')?.focus();
        asked.current = asking;
    }, [asking]);
    return (
        <li class={`model ${state.is.replace(' ', '-')}`}>
            <div class="who">
                <b dir="auto">{title}</b> {pills}
                <div class="can">{about}</div>
            </div>
            <div class="size">{bytes === undefined ? '' : formatBytes(bytes)}</div>
            <Memory prediction={prediction} />
            <Speed prediction={prediction} />
            <div class="act" ref={act}>
                {!asking && <RowButton title={title} state={state} actions={actions} />}
            </div>
            <Under title={title} state={state} prediction={prediction} onRemove={actions.remove} />
            {children}
        </li>
    );
}

/** How much of what this device has it takes. */
export function Memory({ prediction }: { prediction: Prediction | undefined }) {
    if (!prediction) return <div class="mem" />;
    const share = prediction.memory / prediction.available;
    const tone = prediction.verdict === 'too large' ? ' bad' : prediction.verdict === 'tight' ? ' warn' : '';
    return (
        <div class="mem">
            <Bar share={share} tone={tone} />
            <small>{words.memoryOf(prediction)}</small>
        </div>
    );
}

/** Words beside it say the same; styles may not be written into the page, so the width is an attribute of a picture. */
export function Bar({ share, tone = '' }: { share: number; tone?: string }) {
    const width = Math.max(1, Math.min(1, share) * 100);
    return (
        <svg class={`bar-picture${tone}`} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
            <rect class="track" width="100" height="4" />
            <rect class="part" width={width} height="4" />
        </svg>
    );
}

function Speed({ prediction }: { prediction: Prediction | undefined }) {
    if (!prediction?.fits) return <div class="rate" />;
    const { tokensPerSecond, pace } = prediction;
    if (tokensPerSecond === undefined) return <div class="rate unknown">{words.unknownSpeed}</div>;
    return (
        <div class="rate">
            {words.tokensPerSecond(tokensPerSecond, false)}
            <small>{pace && words.pace(pace)}</small>
        </div>
    );
}

export function RowButton({ title, state, actions }: Pick<ModelRowProps, 'title' | 'state' | 'actions'>) {
    const button = (verb: string, run: () => void, primary = false) => (
        <button type="button" class={`button${primary ? ' primary' : ''}`} aria-label={words.named(verb, title)} onClick={run}>
            {verb}
        </button>
    );
    switch (state.is) {
        case 'offered':
            return button(words.get, actions.get);
        case 'queued':
        case 'downloading':
        case 'checking':
            return button(words.pause, actions.pause);
        case 'paused':
            return button(words.goOn, actions.resume);
        case 'failed':
            return button(words.tryAgain, actions.resume);
        case 'kept':
            return button(words.answerWithIt, actions.use, true);
        case 'answering':
            return <span class="pill good">{words.answeringNow}</span>;
        default:
            return null;
    }
}

/** How far it is, or why not. */
export function Under({ title, state, prediction, onRemove }: Pick<ModelRowProps, 'title' | 'state' | 'prediction'> & { onRemove: () => void }) {
    if (state.is === 'too large') {
        return (
            <p class="wide why">
                {prediction && words.tooLarge(title, prediction)}{' '}
                <a class="link" href={hrefOf({ page: 'settings' })} aria-label={words.named(words.useServer, title)}>
                    {words.useServer}
                </a>
            </p>
        );
    }
    if (state.is === 'no place') return <p class="wide why">{words.noPlace}</p>;
    const said = words.progress(state);
    if (said === '') return null;
    const share = shareOf(state);
    const arrived = state.is === 'paused' || state.is === 'failed';
    return (
        <div class={`down wide${state.is === 'failed' ? ' bad' : ''}`}>
            <span role={arrived ? 'status' : undefined}>{said}</span>
            {state.is === 'downloading' && <span class="faint">{words.checkedAsItArrives}</span>}
            {arrived && 'done' in state && state.done > 0 && (
                <IconButton icon="trash" label={words.named(words.deleteArrived, title)} onClick={onRemove} />
            )}
            {share !== undefined && (
                <progress max={1} value={share} aria-label={words.doneShare(title)} />
            )}
        </div>
    );
}
