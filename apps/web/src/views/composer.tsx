import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import { sentence } from '../chat/answer.js';
import { attached } from '../chat/attached.js';
import type { EngineState } from '../engine/protocol.js';
import { appended, takeText } from '../files/incoming.js';
import { takeFiles } from '../files/take-files.js';
import { features } from '../shell/features.js';
import { drafts } from '../store/drafts.js';
import { useObserved } from '../store/observable.js';
import { settings } from '../store/settings.js';
import { TryGpuAgain, whyOf } from './caution.js';
import { Icon, IconButton } from './icons.js';
import { lazyView } from './lazy-view.js';
import { describeState } from './model-chip.js';
import { Parts } from './parts.js';
import { waiting, writeAlready } from './waiting-words.js';

const builtinAdvice = 'Storyteller writes small stories and knows no facts.';
const usualAdvice = 'Answers may be wrong; check what matters.';

const rails = features.flatMap(({ rail }) => (rail ? [{ shows: rail.shows, View: lazyView(rail.load) }] : []));

// There is one on the page.
const inputId = 'composer-input';

/** Ready to type, but no keyboard that jumps up on a phone. */
export function focusComposer(): void {
    if (matchMedia('(pointer: fine)').matches) document.getElementById(inputId)?.focus();
}

/** `conversation`: whose draft it is; `new` for the one to come. */
export function Composer({ answering, conversation }: { answering: boolean; conversation: string }) {
    const app = useApp();
    const { conversations, engine } = app;
    const state = useObserved(engine.state);
    const { useEndpoint } = useObserved(settings);
    const [, redraw] = useState(0);
    const underId = useId();
    const input = useRef<HTMLTextAreaElement>(null);
    const picker = useRef<HTMLInputElement>(null);
    const text = drafts.get(conversation);
    const parts = useObserved(attached.all).get(conversation) ?? [];
    useGrowing(input, text);

    useEffect(focusComposer, [conversation]);

    const write = (next: string) => {
        drafts.set(conversation, next);
        redraw((count) => count + 1);
    };
    // Dropped anywhere on the page.
    useEffect(() => takeText((more) => write(appended(drafts.get(conversation), more))), [conversation]);
    const nothing = text.trim() === '' && parts.length === 0;
    const send = () => {
        const said = text.trim();
        if (nothing || answering) return;
        write('');
        void conversations.send(said, attached.take(conversation));
    };
    const stop = () => conversations.stop();
    const isWaiting = !useEndpoint && state.phase === 'loading';
    return (
        <form
            class="composer"
            onSubmit={(event) => {
                event.preventDefault();
                send();
            }}
        >
            <Parts
                parts={parts}
                onRemove={(part) => attached.remove(conversation, part)}
                onChange={(before, after) => attached.replace(conversation, before, after)}
            />
            <div class="field">
                <input
                    ref={picker}
                    type="file"
                    multiple
                    aria-label="Files to attach"
                    hidden
                    onChange={({ currentTarget }) => {
                        void takeFiles(app, [...(currentTarget.files ?? [])], Promise.resolve([]));
                        currentTarget.value = ''; // the same one may be wanted again
                    }}
                />
                <IconButton icon="clip" label="Attach files" class="attach" onClick={() => picker.current?.click()} />
                <textarea
                    ref={input}
                    id={inputId}
                    rows={1}
                    dir="auto"
                    aria-label="Message"
                    aria-describedby={underId}
                    placeholder={isWaiting ? writeAlready : 'Write a message'}
                    value={text}
                    onInput={(event) => write(event.currentTarget.value)}
                    onKeyDown={(event) => {
                        if (!isSending(event)) return;
                        event.preventDefault();
                        send();
                    }}
                />
                {rails.map(({ shows, View }) => shows(useEndpoint ? undefined : state.info) && <View />)}
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
            <p class="under" id={underId}>
                {useEndpoint ? (
                    'Answers come from the endpoint in the settings.'
                ) : (
                    <EngineLine state={state} begun={conversation !== 'new'} />
                )}
            </p>
        </form>
    );
}

/** One thing at a time: before the first message what there is to know about this device, then about the answers. */
function EngineLine({ state, begun }: { state: EngineState; begun: boolean }) {
    const { phase, name, info, wish } = state;
    const held = wish?.caution === 'held';
    if (phase === 'failed') return <span class="problem">{describeState(state)}</span>;
    if (phase === 'loading') return <>{waiting(state.progress)}</>;
    if (phase !== 'ready') return <>{`${name} ${describeState(state)}`.trim()}</>;
    const builtin = wish?.choice.kind === 'builtin';
    // Who has no GPU should know why it is slow.
    const fallback = info?.backend === 'cpu' && (held || wish?.backend === 'auto');
    if (held && fallback) {
        return (
            <>
                {sentence(whyOf(state))} <TryGpuAgain />
            </>
        );
    }
    if (fallback && !begun) return <>{sentence(whyOf(state))}</>;
    return <>{builtin ? builtinAdvice : usualAdvice}</>;
}

/** Enter sends; with Shift it is a new line, and while composing (Japanese, Chinese …) it chooses a word. */
export function isSending(event: KeyboardEvent): boolean {
    return event.key === 'Enter' && !event.shiftKey && !event.isComposing;
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
