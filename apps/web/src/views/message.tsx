import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import type { Answer } from '../chat/answer.js';
import { Markdown } from '../markdown/markdown.js';
import type { Message, Step } from '../store/conversation.js';
import { useObserved } from '../store/observable.js';
import { focusComposer } from './composer.js';
import { CopyButton } from './copy.js';
import { Edit } from './edit.js';
import { foldOf } from './fold.js';
import { formatCount, formatRate } from './format.js';
import { Gem } from './gem.js';
import { IconButton } from './icons.js';
import { lazyView } from './lazy-view.js';
import { Parts } from './parts.js';

export interface MessageProps {
    step: Step;
    /** Set while the message is being written in this tab. */
    answer: Answer | undefined;
    busy: boolean;
    isLast: boolean;
    /** Ids of the tool calls that have got a result, where it has calls. */
    answeredCalls: string;
}

/** Come with the first draft, and the first call. */
const Settling = lazyView(() => import('./settling.js').then((module) => module.Settling));
const CalledTool = lazyView(() => import('./called-tool.js').then((module) => module.CalledTool));

const speakers = { user: 'You', assistant: 'Model', tool: 'Tool result' };

export function MessageView({ step, answer, busy, isLast, answeredCalls }: MessageProps) {
    const { conversations } = useApp();
    const { message } = step;
    const [editing, setEditing] = useState(false);
    const frame = useRef<HTMLLIElement>(null);
    const edited = useRef(false);
    useEffect(() => {
        // Who looked and changed nothing is back at the button.
        if (edited.current && !editing) frame.current?.querySelector<HTMLElement>('.edit-button')?.focus();
        edited.current = editing;
    }, [editing]);
    const writing = message.status === 'streaming';
    const again = busy ? undefined : () => void conversations.regenerate(message);
    const goOn = busy || !isLast || !canGoOn(message) ? undefined : () => void conversations.goOn(message);
    return (
        <li ref={frame} class={`message ${message.role}${isLast ? ' last' : ''}`} aria-busy={writing}>
            <h2 class="only-spoken">{message.model ?? speakers[message.role]}</h2>
            {editing ? (
                <Edit
                    text={message.content}
                    onDone={(text) => {
                        setEditing(false);
                        if (text === undefined || text === message.content) return;
                        edited.current = false;
                        void conversations.edit(message, text);
                        focusComposer();
                    }}
                />
            ) : (
                <div class="body">
                    {message.reasoning && <Thinking text={message.reasoning} now={writing && message.content === ''} />}
                    <Parts parts={message.parts} />
                    <Content message={message} />
                    {writing && message.draft && <Settling draft={message.draft} />}
                    {message.toolCalls?.map((call) => (
                        <CalledTool
                            key={call.id}
                            call={call}
                            answered={answeredCalls.split('\n').includes(call.id)}
                            disabled={busy}
                            onResult={(text) => void conversations.answerTool(message, call.id, text)}
                        />
                    ))}
                    {message.leftOut !== undefined && (
                        <p class="ending">
                            The conversation has outgrown the model’s context: its first{' '}
                            {message.leftOut === 1 ? 'message was' : `${message.leftOut} messages were`} left out.
                        </p>
                    )}
                    <Ending message={message} onGoOn={goOn} onAgain={again} />
                </div>
            )}
            {!editing && (
                <div class="actions">
                    {writing && !message.draft && <Working message={message} />}
                    <Branches step={step} disabled={busy} />
                    {!writing && message.content !== '' && <CopyButton text={message.content} label="Copy message" />}
                    {message.role === 'user' && !busy && (
                        <IconButton
                            icon="edit"
                            label="Edit and ask again"
                            class="edit-button"
                            onClick={() => setEditing(true)}
                        />
                    )}
                    {message.role === 'assistant' && again && (
                        <IconButton icon="again" label="Answer again" onClick={again} />
                    )}
                    <Speed message={message} answer={answer} />
                </div>
            )}
        </li>
    );
}

function Content({ message }: { message: Message }) {
    if (message.content === '') return null;
    if (message.role === 'assistant') return <Markdown text={message.content} growing={message.status === 'streaming'} />;
    if (message.role === 'tool') {
        return (
            <pre class="tool-result" dir="auto">
                {message.content}
            </pre>
        );
    }
    return <Said text={message.content} />;
}

function Said({ text }: { text: string }) {
    const [open, setOpen] = useState(false);
    const fold = useMemo(() => foldOf(text), [text]);
    return (
        <>
            <p class="said" dir="auto">
                {fold && !open ? fold.beginning : text}
            </p>
            {fold && (
                <button type="button" class="link unfold" aria-expanded={open} onClick={() => setOpen(!open)}>
                    {open ? 'Show less' : fold.all}
                </button>
            )}
        </>
    );
}

function Thinking({ text, now }: { text: string; now: boolean }) {
    return (
        <details class="thinking">
            <summary>{now ? 'Thinking…' : 'Thoughts'}</summary>
            <Markdown text={text} growing={now} />
        </details>
    );
}

/** The stone glints while something is being made. */
function Working({ message }: { message: Message }) {
    const { phase } = useObserved(useApp().engine.state);
    const begun = message.content !== '' || message.reasoning !== undefined;
    return (
        <span class="working" role="status">
            <Gem busy />
            {!begun && <span>{phase === 'loading' ? 'Waiting for the model' : 'Reading'}</span>}
        </span>
    );
}

/** A call is all or nothing; of text every beginning can be continued. */
function canGoOn({ status, content, toolCalls, tokens }: Message): boolean {
    const broken = status === 'stopped' || status === 'length' || status === 'interrupted' || status === 'failed';
    return broken && !toolCalls?.length && (content !== '' || (tokens?.length ?? 0) > 0);
}

interface EndingProps {
    message: Message;
    onGoOn: (() => void) | undefined;
    onAgain: (() => void) | undefined;
}

/** How it ended, unless it ended well. */
function Ending({ message, onGoOn, onAgain }: EndingProps) {
    const words: Partial<Record<Message['status'], string>> = {
        stopped: 'Stopped.',
        interrupted: 'The page was closed before this was finished.',
        length: 'The answer reached its length limit.',
        failed: message.problem ?? 'Something went wrong.',
    };
    const text = words[message.status];
    if (text === undefined) return null;
    const serious = message.status === 'failed';
    const lost = serious || message.status === 'interrupted';
    return (
        <p class={`ending${serious ? ' problem' : ''}`} role={serious ? 'alert' : undefined}>
            {text}
            {onGoOn && (
                <button type="button" class="link" onClick={onGoOn}>
                    Go on
                </button>
            )}
            {lost && onAgain && (
                <button type="button" class="link" onClick={onAgain}>
                    Try again
                </button>
            )}
        </p>
    );
}

function Branches({ step, disabled }: { step: Step; disabled: boolean }) {
    const { conversations } = useApp();
    const { index, siblings } = step;
    if (siblings.length < 2) return null;
    const go = (to: number) => {
        const other = siblings[to];
        if (other) void conversations.show(other);
    };
    return (
        <span class="branches">
            <IconButton
                icon="left"
                label="Previous version"
                disabled={disabled || index === 0}
                onClick={() => go(index - 1)}
            />
            <span>
                {index + 1}/{siblings.length}
            </span>
            <IconButton
                icon="right"
                label="Next version"
                disabled={disabled || index === siblings.length - 1}
                onClick={() => go(index + 1)}
            />
        </span>
    );
}

function Speed({ message, answer }: { message: Message; answer: Answer | undefined }) {
    if (message.role !== 'assistant') return null;
    if (answer) {
        const live = answer.tokensPerSecond;
        return live === undefined ? null : <span class="speed">{formatRate(live)} tokens/s</span>;
    }
    const { completionTokens = 0, completionMs = 0, promptTokens = 0, promptMs = 0 } = message.stats ?? {};
    if (completionTokens === 0) return null;
    const rate = completionMs > 0 ? `${formatRate((completionTokens / completionMs) * 1000)} tokens/s` : '';
    const within = (ms: number) => (ms > 0 ? ` in ${Math.round(ms)} ms` : '');
    const details = [
        promptTokens > 0 && `${formatCount(promptTokens)} tokens read${within(promptMs)}`,
        `${formatCount(completionTokens)} written${within(completionMs)}`,
    ];
    return (
        <span class="speed" title={details.filter(Boolean).join(', ')}>
            {[message.model, `${formatCount(completionTokens)} tokens`, rate].filter(Boolean).map((part, index) => (
                <span key={index}>
                    {index > 0 && ' · '}
                    {part}
                </span>
            ))}
        </span>
    );
}
