// The adapters this browser keeps: which of them answer in the chat, and how to take them elsewhere.
import { useEffect, useRef } from 'preact/hooks';
import { useApp } from '../../app.js';
import { sentence } from '../../chat/answer.js';
import { navigate } from '../../router.js';
import { useObserved } from '../../store/observable.js';
import { settings, type AdapterChoice } from '../../store/settings.js';
import { adapters, removeAdapter, startWorkshop, type StoredAdapter } from '../../store/workshop.js';
import { formatBytes } from '../../views/format.js';
import { Icon, IconButton } from '../../views/icons.js';
import { notify } from '../../views/notices.js';
import { saveFile } from '../../views/save-file.js';
import './finetune.css';

function choose(adapter: StoredAdapter, on: boolean): void {
    const others = settings.value.adapters.filter(({ id }) => id !== adapter.id);
    const { id, name, model } = adapter;
    settings.update({ adapters: on ? [...others, { id, name, model, scale: 1 }] : others });
}

function setScale(id: string, scale: number): void {
    const change = (choice: AdapterChoice) => (choice.id === id ? { ...choice, scale } : choice);
    settings.update({ adapters: settings.value.adapters.map(change) });
}

/** One click from a finished training to a chat with it. */
export function UseInChat({ id, primary = false }: { id: string; primary?: boolean }) {
    const adapter = useObserved(adapters).find((one) => one.id === id);
    if (!adapter) return null;
    return (
        <button
            type="button"
            class={primary ? 'button primary' : 'button'}
            onClick={() => {
                choose(adapter, true);
                navigate({ page: 'chat' });
            }}
        >
            <Icon name="chat" />
            Use in chat
        </button>
    );
}

export function AdapterList() {
    const { engine } = useApp();
    const { name: model } = useObserved(engine.state);
    const kept = useObserved(adapters);
    const chosen = useObserved(settings).adapters;
    const picker = useRef<HTMLInputElement>(null);
    useEffect(() => void startWorkshop().catch(() => undefined), []);
    const take = async (files: File[]) => {
        const weights = files.find(({ name }) => /\.(gguf|safetensors)$/i.test(name));
        const config = files.find(({ name }) => name.endsWith('.json'));
        if (!weights) return notify('An adapter is a .gguf file, or a .safetensors file with its adapter_config.json.');
        try {
            const name = weights.name.replace(/\.\w+$/, '');
            await engine.call('importAdapter', { weights, name, ...(config ? { config: await config.text() } : {}) });
            notify(`'${name}' is kept in this browser.`);
        } catch (error) {
            notify(sentence(error));
        }
    };
    return (
        <section class="adapters" aria-label="Adapters">
            <h2>Adapters</h2>
            {kept.length === 0 ? (
                <p class="faint">No adapters yet. Teach a model something on Fine-tune, or import one; they are kept in this browser.</p>
            ) : (
                <ul class="model-list">
                    {kept.map((adapter) => (
                        <Item
                            key={adapter.id}
                            adapter={adapter}
                            choice={chosen.find(({ id }) => id === adapter.id)}
                            fits={adapter.model === model}
                        />
                    ))}
                </ul>
            )}
            <p class="buttons under-list">
                <button type="button" class="button" onClick={() => picker.current?.click()}>
                    <Icon name="file" />
                    Import an adapter
                </button>
            </p>
            <input
                ref={picker}
                type="file"
                multiple
                hidden
                accept=".gguf,.safetensors,.json"
                onChange={({ currentTarget }) => {
                    void take([...(currentTarget.files ?? [])]);
                    currentTarget.value = '';
                }}
            />
        </section>
    );
}

function Item({ adapter, choice, fits }: { adapter: StoredAdapter; choice: AdapterChoice | undefined; fits: boolean }) {
    const { engine } = useApp();
    const { id, name, model, bytes, origin, unstored } = adapter;
    const save = async (format: 'peft' | 'gguf') => {
        try {
            const file = await engine.call('exportAdapter', { id, format });
            saveFile(file.name, file.bytes as Uint8Array<ArrayBuffer>, 'application/octet-stream');
        } catch (error) {
            notify(sentence(error));
        }
    };
    const remove = async () => {
        if (!confirm(`Delete the adapter '${name}' from this browser?`)) return;
        choose(adapter, false);
        await removeAdapter(id);
    };
    return (
        <li>
            <label class="check">
                <input
                    type="checkbox"
                    checked={choice !== undefined}
                    aria-label={`Answer with ${name}`}
                    onChange={({ currentTarget }) => choose(adapter, currentTarget.checked)}
                />
                <div>
                    <strong>{name}</strong>
                    <span class="faint">
                        {fits ? '' : `for ${model}, which is not loaded · `}
                        {origin} · {formatBytes(bytes)}
                        {unstored ? ' · not stored: download it before this tab is closed' : ''}
                    </span>
                </div>
            </label>
            <span class="buttons">
                {choice && (
                    <label class="scale" title="How much of it">
                        <span>×{choice.scale.toFixed(2)}</span>
                        <input
                            type="range"
                            min={0}
                            max={2}
                            step={0.05}
                            value={choice.scale}
                            aria-label={`Scale of ${name}`}
                            onInput={({ currentTarget }) => setScale(id, currentTarget.valueAsNumber)}
                        />
                    </label>
                )}
                <button
                    type="button"
                    class="button"
                    aria-label={`Download ${name} as GGUF`}
                    title="Download for llama.cpp and Ollama"
                    onClick={() => void save('gguf')}
                >
                    <Icon name="download" />
                    GGUF
                </button>
                <button
                    type="button"
                    class="button"
                    aria-label={`Download ${name} for PEFT`}
                    title="Download as PEFT’s files, in a zip"
                    onClick={() => void save('peft')}
                >
                    <Icon name="download" />
                    PEFT
                </button>
                <IconButton icon="trash" label={`Delete ${name}`} onClick={() => void remove()} />
            </span>
        </li>
    );
}
