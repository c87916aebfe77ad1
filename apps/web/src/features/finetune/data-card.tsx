// What to learn from: a file, pasted text or the example; then what the engine makes of it.
import type { DataOptions, DataReport, PreviewExample } from 'lapidary';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../../app.js';
import { exampleName, exampleText } from './example.js';
import { takeDrops } from '../../files/taking.js';
import { formatBytes, formatCount } from '../../views/format.js';
import { Icon } from '../../views/icons.js';
import { useTask } from '../../views/use-task.js';

export interface Draft {
    name: string;
    file: Blob;
    options: DataOptions;
    report: DataReport;
}

interface Props {
    draft: Draft | undefined;
    onDraft: (draft: Draft | undefined) => void;
}

// Long examples are read too; how long they may be is then up to the settings.
const longest = 2048;
const shownErrors = 8;

export function DataCard({ draft, onDraft }: Props) {
    const { engine } = useApp();
    const task = useTask<void>();
    const picker = useRef<HTMLInputElement>(null);
    const [pasting, setPasting] = useState(false);
    const [text, setText] = useState('');
    const read = (name: string, file: Blob, options: DataOptions = { seq: longest }) => {
        task.run(async (signal) => {
            const report = await engine.call('readData', { file, options }, undefined, signal);
            onDraft({ name, file, options, report });
        });
    };
    const take = (files: readonly File[]) => {
        const [file] = files;
        if (file) read(file.name, file);
    };
    useEffect(() => takeDrops(take), []);
    return (
        <section class="card" aria-label="Data">
            <h2>What to learn</h2>
            {draft ? (
                <Report draft={draft} onSplit={(split) => read(draft.name, draft.file, { ...draft.options, split })} />
            ) : (
                <p>
                    Questions with answers or whole chats as JSONL or CSV, or just a text. Drop a file anywhere on this page. It
                    stays on this device.
                </p>
            )}
            {pasting && (
                <form
                    class="paste"
                    onSubmit={(event) => {
                        event.preventDefault();
                        setPasting(false);
                        read('Pasted text', new Blob([text]));
                    }}
                >
                    <label>
                        <span>Text, JSONL or CSV</span>
                        <textarea
                            rows={7}
                            class="code"
                            spellcheck={false}
                            placeholder='{"prompt": "Who are you?", "completion": "A pirate."}'
                            value={text}
                            onInput={({ currentTarget }) => setText(currentTarget.value)}
                        />
                    </label>
                    <button type="submit" class="button primary" disabled={text.trim() === ''}>
                        Read it
                    </button>
                </form>
            )}
            <p class="buttons">
                <button type="button" class="button" onClick={() => picker.current?.click()}>
                    <Icon name="file" />
                    {draft ? 'Another file' : 'Choose a file'}
                </button>
                <button type="button" class="button" aria-expanded={pasting} onClick={() => setPasting(!pasting)}>
                    <Icon name="edit" />
                    Paste text
                </button>
                {!draft && (
                    <button type="button" class="button" onClick={() => read(exampleName, new Blob([exampleText]))}>
                        <Icon name="flask" />
                        Try an example
                    </button>
                )}
                {task.running && <span class="faint">Reading…</span>}
            </p>
            <input
                ref={picker}
                type="file"
                hidden
                accept=".jsonl,.json,.csv,.tsv,.txt,.md,text/*,application/json"
                onChange={({ currentTarget }) => {
                    take([...(currentTarget.files ?? [])]);
                    currentTarget.value = '';
                }}
            />
            {task.problem && (
                <p class="problem" role="alert">
                    {task.problem}
                </p>
            )}
        </section>
    );
}

function Report({ draft, onSplit }: { draft: Draft; onSplit: (split: NonNullable<DataOptions['split']>) => void }) {
    const { name, file, options, report } = draft;
    const { examples, tokens, learntTokens, format, errors, errorCount, preview } = report;
    return (
        <>
            <p class="data-summary">
                <strong>{name}</strong>
                <span>
                    {format.toUpperCase()} · {formatBytes(file.size)} · {formatCount(examples)}{' '}
                    {examples === 1 ? 'example' : 'examples'} · {formatCount(tokens)} tokens, of which {formatCount(learntTokens)}{' '}
                    are learnt
                </span>
            </p>
            {format === 'text' && (
                <label class="narrow">
                    <span>Text becomes examples</span>
                    <select
                        value={options.split ?? 'paragraphs'}
                        onChange={({ currentTarget }) => onSplit(currentTarget.value as NonNullable<DataOptions['split']>)}
                    >
                        <option value="paragraphs">at blank lines</option>
                        <option value="stream">as one text, cut into pieces</option>
                    </select>
                </label>
            )}
            {errorCount > 0 && (
                <div class="line-errors" role="status">
                    <p class="problem">
                        {errorCount === 1 ? 'One line was left out:' : `${formatCount(errorCount)} lines were left out:`}
                    </p>
                    <ul>
                        {errors.slice(0, shownErrors).map(({ line, message }) => (
                            <li key={line}>
                                <span class="line">Line {line}</span> {message}
                            </li>
                        ))}
                    </ul>
                    {errorCount > shownErrors && <p class="faint">… and {formatCount(errorCount - shownErrors)} more</p>}
                </div>
            )}
            {preview.length > 0 && <Preview examples={preview} />}
        </>
    );
}

function Preview({ examples }: { examples: readonly PreviewExample[] }) {
    const [at, setAt] = useState(0);
    useEffect(() => setAt(0), [examples]);
    const example = examples[at];
    if (!example) return null;
    return (
        <figure class="preview">
            <figcaption>
                <span>
                    Example {at + 1} of {examples.length} shown · line {example.line} · {example.tokens} tokens ·{' '}
                    <span class="token learnt">this</span> is learnt, <span class="token">this</span> is only read
                </span>
                <span class="buttons">
                    <button
                        type="button"
                        class="icon-button"
                        aria-label="Previous example"
                        disabled={at === 0}
                        onClick={() => setAt(at - 1)}
                    >
                        <Icon name="left" />
                    </button>
                    <button
                        type="button"
                        class="icon-button"
                        aria-label="Next example"
                        disabled={at === examples.length - 1}
                        onClick={() => setAt(at + 1)}
                    >
                        <Icon name="right" />
                    </button>
                </span>
            </figcaption>
            <p class="tokens" tabIndex={0}>
                {example.shown.map(({ text, weight }, i) => (
                    <span key={i} class={weight > 0 ? 'token learnt' : 'token'}>
                        {text}
                    </span>
                ))}
            </p>
        </figure>
    );
}
