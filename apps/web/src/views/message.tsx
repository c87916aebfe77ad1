import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../app.js';
import type { Answer } from '../chat/answer.js';
import { Markdown } from '../markdown/markdown.js';
import type { Message, Step, ToolCall } from '../store/conversation.js';
import { useGrowing } from './composer.js';
import { CopyButton } from './copy.js';
import { formatCount, formatRate } from './format.js';
import { Gem } from './gem.js';
import { Icon, IconButton } from './icons.js';

interface Props {
    step: Step;
    /** Set while the message is being written in this tab. */
    answer: Answer | undefined;
    busy: boolean;
    isLast: boolean;
    /** Ids of the tool calls that have got a result. */
    answeredCalls: readonly string[];
}

const speakers = { user: 'You', assistant: 'Model', tool: 'Tool result' };

export function MessageView({ step, answer, busy, isLast, answeredCalls }: Props) {
    const { conversations } = useApp();
    const { message } = step;
    const [editing, setEditing] = useState(false);
    const writing = message.status === 'streaming';
    const again = () => void conversations.regenerate(message);
    return (
        <li class={`message ${message.role}${isLast ? ' last' : ''}`} aria-busy={writing}>
            <h2 class="only-spoken">{message.model ?? speakers[message.role]}</h2>
            {message.role === 'assistant' && <Gem busy={writing} />}
            {editing ? (
                <Edit
                    text={message.content}
                    onDone={(text) => {
                        setEditing(false);
                        if (text !== undefined && text !== message.content) void conversations.edit(message, text);
                    }}
                />
            ) : (
                <div class="body">
                    {message.reasoning && <Thinking text={message.reasoning} now={writing && message.content === ''} />}
                    <Content message={message} />
                    {message.toolCalls?.map((call) => (
                        <CalledTool
                            key={call.id}
                            call={call}
                            answered={answeredCalls.includes(call.id)}
                            disabled={busy}
                            onResult={(text) => void conversations.answerTool(message, call.id, text)}
                        />
                    ))}
                    {writing && message.content === '' && !message.reasoning && <Waiting />}
                    {message.leftOut !== undefined && (
                        <p class="ending">
                            The conversation has outgrown the model’s context: its first{' '}
                            {message.leftOut === 1 ? 'message was' : `${message.leftOut} messages were`} left out.
                        </p>
                    )}
                    <Ending message={message} onAgain={busy ? undefined : again} />
                </div>
            )}
            {!editing && (
                <div class="actions">
                    <Branches step={step} disabled={busy} />
                    {!writing && message.content !== '' && <CopyButton text={message.content} label="Copy message" />}
                    {message.role === 'user' && !busy && (
                        <IconButton icon="edit" label="Edit and ask again" onClick={() => setEditing(true)} />
                    )}
                    {message.role === 'assistant' && !busy && (
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
    if (message.role === 'tool') return <pre class="tool-result" dir="auto">{message.content}</pre>;
    return <p class="said" dir="auto">{message.content}</p>;
}

function Thinking({ text, now }: { text: string; now: boolean }) {
    return (
        <details class="thinking">
            <summary>{now ? 'Thinking…' : 'Thoughts'}</summary>
            <Markdown text={text} growing={now} />
        </details>
    );
}

function Waiting() {
    const { phase } = useApp().engine.state.value;
    return (
        <p class="waiting" role="status">
            <span class="only-spoken">{phase === 'loading' ? 'Waiting for the model' : 'The model is reading'}</span>
            <span class="dots" aria-hidden="true">
                <i />
                <i />
                <i />
            </span>
        </p>
    );
}

/** How it ended, unless it ended well. */
function Ending({ message, onAgain }: { message: Message; onAgain: (() => void) | undefined }) {
    const words: Partial<Record<Message['status'], string>> = {
        stopped: 'Stopped.',
        interrupted: 'The page was closed before this was finished.',
        length: 'The answer reached its length limit.',
        failed: message.problem ?? 'Something went wrong.',
    };
    const text = words[message.status];
    if (text === undefined) return null;
    const serious = message.status === 'failed';
    return (
        <p class={`ending${serious ? ' problem' : ''}`} role={serious ? 'alert' : undefined}>
            {text}
            {(serious || message.status === 'interrupted') && onAgain && (
                <button type="button" class="link" onClick={onAgain}>
                    Try again
                </button>
            )}
        </p>
    );
}

interface CalledToolProps {
    call: ToolCall;
    answered: boolean;
    disabled: boolean;
    onResult: (text: string) => void;
}

/** People are the tools: they look up what was asked for, and type it in. */
function CalledTool({ call, answered, disabled, onResult }: CalledToolProps) {
    const [text, setText] = useState('');
    return (
        <figure class="tool-call">
            <figcaption>
                <Icon name="tool" />
                Calls <code>{call.name}</code>
            </figcaption>
            <pre>{pretty(call.arguments)}</pre>
            {!answered && !disabled && (
                <form
                    onSubmit={(event) => {
                        event.preventDefault();
                        onResult(text);
                    }}
                >
                    <textarea
                        rows={2}
                        aria-label={`Result of ${call.name}`}
                        placeholder="What the tool returns"
                        value={text}
                        onInput={(event) => setText(event.currentTarget.value)}
                    />
                    <button type="submit" class="button">
                        Send the result
                    </button>
                </form>
            )}
        </figure>
    );
}

function pretty(json: string): string {
    try {
        return JSON.stringify(JSON.parse(json), null, 2);
    } catch {
        return json;
    }
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
            {[message.model, `${formatCount(completionTokens)} tokens`, rate].filter(Boolean).join(' · ')}
        </span>
    );
}

function Edit({ text, onDone }: { text: string; onDone: (text?: string) => void }) {
    const [value, setValue] = useState(text);
    const input = useRef<HTMLTextAreaElement>(null);
    useGrowing(input, value);
    useEffect(() => {
        input.current?.focus();
        input.current?.setSelectionRange(text.length, text.length);
    }, []);
    return (
        <form
            class="edit"
            onSubmit={(event) => {
                event.preventDefault();
                onDone(value.trim() || undefined);
            }}
            onKeyDown={(event) => {
                if (event.key !== 'Escape') return;
                event.preventDefault();
                onDone();
            }}
        >
            <textarea
                ref={input}
                dir="auto"
                aria-label="Edit message"
                value={value}
                onInput={(event) => setValue(event.currentTarget.value)}
            />
            <div class="buttons">
                <button type="button" class="button" onClick={() => onDone()}>
                    Cancel
                </button>
                <button type="submit" class="button primary">
                    Ask again
                </button>
            </div>
        </form>
    );
}
