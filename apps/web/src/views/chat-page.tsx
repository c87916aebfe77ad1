import { Component } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import { pathOf } from '../store/conversation.js';
import { useObserved } from '../store/observable.js';
import { Composer } from './composer.js';
import { Icon, IconButton } from './icons.js';
import { MessageView, type MessageProps } from './message.js';
import { ContextMeter, ModelChip } from './model-chip.js';
import { Narrator } from './narrator.js';
import { FileAgain, Refusal } from './refusal.js';
import { Welcome, WelcomeBelow } from './welcome.js';

export function ChatPage({ onMenu }: { onMenu: () => void }) {
    const { conversations } = useApp();
    const { conversation, messages } = useObserved(conversations.opened);
    const coming = useObserved(conversations.coming);
    const answer = useObserved(conversations.answers).get(conversation?.id ?? '');
    const path = conversation ? pathOf(conversation, messages) : [];
    const last = path.at(-1)?.message;
    // Changes whenever there is more to see.
    const length = `${path.length} ${last?.content.length ?? 0} ${last?.reasoning?.length ?? 0} ${last?.draft?.step ?? ''}`;

    useEffect(() => {
        document.title = conversation ? `${conversation.title} · Lapidary` : 'Lapidary';
    }, [conversation?.title]);

    // Escape stops, wherever one is, unless it closes something that lies over the page.
    const frame = useRef<HTMLDivElement>(null);
    useEffect(() => {
        const stop = (event: KeyboardEvent) => {
            if (event.key !== 'Escape' || event.defaultPrevented || frame.current?.closest('[inert]')) return;
            conversations.stop();
        };
        document.addEventListener('keydown', stop);
        return () => document.removeEventListener('keydown', stop);
    }, []);

    return (
        <div ref={frame} class={`chat${path.length === 0 ? ' empty' : ''}`}>
            <header class="bar">
                <IconButton icon="menu" label="Open the menu" class="only-phone" onClick={onMenu} />
                <h1 tabIndex={-1} dir="auto" class={conversation ? undefined : 'only-spoken'}>
                    {conversation?.title ?? 'New chat'}
                </h1>
                <span class="space" />
                <ContextMeter path={path} />
                <ModelChip />
            </header>
            {path.length === 0 ? (
                <Welcome />
            ) : (
                <Scroller key={conversation?.id} follow={length}>
                    <ol class="messages" aria-label="Messages">
                        {path.map((step, index) => (
                            <Row
                                key={step.message.id}
                                step={step}
                                answer={answer?.message.id === step.message.id ? answer : undefined}
                                busy={answer !== undefined}
                                isLast={index === path.length - 1}
                                answeredCalls={step.message.toolCalls ? path.map(({ message }) => message.toolCallId ?? '').join('\n') : ''}
                            />
                        ))}
                    </ol>
                </Scroller>
            )}
            <div class="before-composer">
                <Refusal />
                <FileAgain />
            </div>
            <Composer answering={answer !== undefined} conversation={coming ?? conversation?.id ?? 'new'} />
            {path.length === 0 && <WelcomeBelow onPick={(text) => void conversations.send(text)} />}
            <Narrator message={answer ? last : undefined} />
        </div>
    );
}

/** While one message grows the others are not drawn again. */
class Row extends Component<MessageProps> {
    override shouldComponentUpdate({ step, ...next }: MessageProps): boolean {
        const { step: before, ...props } = this.props;
        const same = (Object.keys(next) as (keyof typeof next)[]).every((name) => next[name] === props[name]);
        return !same || step.message !== before.message || step.index !== before.index || step.siblings.length !== before.siblings.length;
    }

    override render() {
        return <MessageView {...this.props} />;
    }
}

/** Stays at the end while the end grows, unless one scrolled up to read. */
function Scroller({ follow, children }: { follow: string; children: preact.ComponentChildren }) {
    const frame = useRef<HTMLDivElement>(null);
    const atEnd = useRef(true);
    const [away, setAway] = useState(false);
    const toEnd = () => frame.current?.scrollTo({ top: frame.current.scrollHeight });
    useLayoutEffect(() => {
        if (atEnd.current) toEnd();
    }, [follow]);
    return (
        <div
            class="scroller"
            ref={frame}
            onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
                atEnd.current = scrollHeight - scrollTop - clientHeight < 60;
                setAway(!atEnd.current);
            }}
        >
            {children}
            {away && (
                <button type="button" class="to-end button" onClick={toEnd}>
                    <Icon name="download" />
                    Latest
                </button>
            )}
        </div>
    );
}
