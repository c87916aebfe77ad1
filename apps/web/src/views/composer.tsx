import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import { sentence } from '../chat/answer.js';
import type { EngineState } from '../engine/protocol.js';
import { appended, takeText } from '../files/incoming.js';
import { useObserved } from '../store/observable.js';
import { settings } from '../store/settings.js';
import { TryGpuAgain, whyOf } from './caution.js';
import { Icon } from './icons.js';
import { describeState } from './model-chip.js';

const builtinAdvice = 'A small model for children’s stories; it knows no facts.';
const usualAdvice = 'Answers may be wrong; check what matters.';

export function Composer({ answering, focusKey }: { answering: boolean; focusKey: string }) {
    const { conversations, engine } = useApp();
    const state = useObserved(engine.state);
    const { useEndpoint } = useObserved(settings);
    const [text, setText] = useState('');
    const input = useRef<HTMLTextAreaElement>(null);
    useGrowing(input, text);

    // Ready to type, but no keyboard that jumps up on a phone.
    useEffect(() => {
        if (matchMedia('(pointer: fine)').matches) input.current?.focus();
    }, [focusKey]);

    // Dropped anywhere on the page.
    useEffect(() => takeText((more) => setText((before) => appended(before, more))), []);

    const send = () => {
        const said = text.trim();
        if (said === '' || answering) return;
        setText('');
        void conversations.send(said);
    };
    const stop = () => conversations.stop();
    const nothing = text.trim() === '';
    const waiting = !useEndpoint && state.phase === 'loading';
    return (
        <form
            class="composer"
            onSubmit={(event) => {
                event.preventDefault();
                send();
            }}
        >
            <div class="field">
                <textarea
                    ref={input}
                    rows={1}
                    aria-label="Message"
                    dir="auto"
                    placeholder={waiting ? 'Write already; the model is nearly there' : 'Write a message'}
                    value={text}
                    onInput={(event) => setText(event.currentTarget.value)}
                    onKeyDown={(event) => {
                        // Enter while composing (Japanese, Chinese …) chooses a word.
                        if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
                        event.preventDefault();
                        send();
                    }}
                />
                {answering ? (
                    <button type="button" class="round" aria-label="Stop" title="Stop (Esc)" onClick={stop}>
                        <Icon name="stop" />
                    </button>
                ) : (
                    <button type="submit" class="round" aria-label="Send" title="Send (Enter)" disabled={nothing}>
                        <Icon name="send" />
                    </button>
                )}
            </div>
            <p class="under">
                {useEndpoint ? 'Answers come from the endpoint in the settings.' : <EngineLine state={state} />}
            </p>
        </form>
    );
}

function EngineLine({ state }: { state: EngineState }) {
    const { phase, name, info, wish } = state;
    const held = wish?.caution === 'held';
    if (phase === 'failed') return <span class="problem">{describeState(state)}</span>;
    if (phase !== 'ready') return <>{`${name} ${describeState(state)}`.trim()}</>;
    const builtin = wish?.choice.kind === 'builtin';
    // Who has no GPU should know why it is slow.
    const fallback = info?.backend === 'cpu' && (held || wish?.backend === 'auto');
    return (
        <>
            {fallback && <span>{sentence(whyOf(state))} </span>}
            {held && (
                <>
                    <TryGpuAgain />{' '}
                </>
            )}
            <span>{builtin ? builtinAdvice : usualAdvice}</span>
        </>
    );
}

/** As high as its text, up to what the stylesheet allows. */
export function useGrowing(input: { current: HTMLTextAreaElement | null }, text: string): void {
    useLayoutEffect(() => {
        const element = input.current;
        if (!element) return;
        element.style.height = 'auto';
        element.style.height = `${element.scrollHeight}px`;
    }, [text]);
}
