import { useEffect } from 'preact/hooks';
import { useApp, wishFor } from '../../app.js';
import { baseAddress, kindOf } from '../../chat/address.js';
import { parseTools } from '../../chat/backend.js';
import { listRemoteModels } from '../../chat/remote.js';
import type { PageProps, Tool } from '../../shell/feature.js';
import { allTools, features } from '../../shell/features.js';
import { useObserved } from '../../store/observable.js';
import { ranges, settings, type Endpoint, type NumericSetting, type Settings } from '../../store/settings.js';
import { CanvasSettings } from '../../views/canvas-settings.js';
import { lazyView } from '../../views/lazy-view.js';
import { NumberInput } from '../../views/number-input.js';
import { PageFrame } from '../../views/page.js';
import { saveFile } from '../../views/save-file.js';
import { useTask } from '../../views/use-task.js';

const sampling: { name: NumericSetting; label: string }[] = [
    { name: 'temperature', label: 'Temperature' },
    { name: 'topP', label: 'Top-p' },
    { name: 'topK', label: 'Top-k' },
    { name: 'minP', label: 'Min-p' },
    { name: 'repeatPenalty', label: 'Repeat penalty' },
    { name: 'seed', label: 'Seed' },
    { name: 'maxTokens', label: 'Longest answer, in tokens' },
];

const cards = features.flatMap(({ id, settings }) => (settings ? [[id, lazyView(settings)] as const] : []));

export function SettingsPage({ onMenu }: PageProps) {
    const value = useObserved(settings);
    const tools = parseTools(value.tools);
    return (
        <PageFrame onMenu={onMenu} title="Settings" intro="Kept in this browser, used from the next message on.">
            <section class="card">
                <h2>Behaviour</h2>
                <label>
                    <span>System prompt</span>
                    <textarea
                        rows={4}
                        placeholder="How the model should behave, for all conversations"
                        value={value.system}
                        onInput={({ currentTarget }) => settings.update({ system: currentTarget.value })}
                    />
                </label>
                <Check
                    label="Think before answering, with models that can"
                    checked={value.thinking}
                    onChange={(thinking) => settings.update({ thinking })}
                />
            </section>
            <section class="card">
                <h2>Sampling</h2>
                <p class="faint">Empty fields follow what the model’s makers recommend.</p>
                <div class="row">
                    {sampling.map(({ name, label }) => (
                        <NumericInput key={name} name={name} label={label} value={value} />
                    ))}
                </div>
            </section>
            <CanvasSettings value={value.diffusion} />
            {cards.map(([id, Card]) => (
                <Card key={id} />
            ))}
            <EngineSettings value={value} />
            <EndpointSettings value={value} />
            <section class="card">
                <h2>Tools</h2>
                <OwnTools chosen={value.ownTools} />
                <label>
                    <span>
                        Functions the model may call, as JSON in the form of OpenAI’s API. You give the results yourself.
                    </span>
                    <textarea
                        rows={4}
                        class="code"
                        spellcheck={false}
                        placeholder='[{"type": "function", "function": {"name": "weather", "parameters": {…}}}]'
                        aria-invalid={tools.problem !== undefined}
                        value={value.tools}
                        onInput={({ currentTarget }) => settings.update({ tools: currentTarget.value })}
                    />
                </label>
                {tools.problem && <p class="problem">{tools.problem}</p>}
            </section>
            <DataSettings />
        </PageFrame>
    );
}

/** What the app offers a model that asks for it. */
function OwnTools({ chosen }: { chosen: readonly string[] }) {
    const tools = useTask<readonly Tool[]>();
    useEffect(() => tools.run(async () => await allTools()), []);
    return (
        <>
            {tools.result?.map(({ name, title }) => (
                <Check
                    key={name}
                    label={`${title}: the model may use it by itself`}
                    checked={chosen.includes(name)}
                    onChange={(on) => settings.update({ ownTools: [...chosen.filter((other) => other !== name), ...(on ? [name] : [])] })}
                />
            ))}
        </>
    );
}

function EngineSettings({ value }: { value: Settings }) {
    const { engine } = useApp();
    const { wish } = useObserved(engine.state);
    const next = wish && wishFor(wish.choice);
    const changed = wish && next && (wish.backend !== next.backend || wish.contextLength !== next.contextLength);
    return (
        <section class="card">
            <h2>Engine</h2>
            <div class="row">
                <label>
                    <span>Compute on</span>
                    <select
                        value={value.backend}
                        onChange={({ currentTarget }) => {
                            settings.update({ backend: currentTarget.value as Settings['backend'] });
                        }}
                    >
                        <option value="auto">the GPU if there is one</option>
                        <option value="gpu">the GPU</option>
                        <option value="cpu">the CPU</option>
                    </select>
                </label>
                <NumericInput name="contextLength" label="Context, in tokens" value={value} />
            </div>
            {changed && (
                <p>
                    Used when a model is loaded.{' '}
                    <button type="button" class="button" onClick={() => void engine.call('load', next)}>
                        Load again now
                    </button>
                </p>
            )}
        </section>
    );
}

function EndpointSettings({ value }: { value: Settings }) {
    const { endpoint, useEndpoint } = value;
    const models = useTask<string[]>();
    const change = (fields: Partial<Endpoint>) =>
        settings.update({ endpoint: { ...settings.value.endpoint, ...fields } });
    const tidy = () => {
        const { url, kind } = settings.value.endpoint;
        change({ url: baseAddress(url), kind: kindOf(url) ?? kind });
    };
    const ask = async (signal: AbortSignal) => {
        const listed = await listRemoteModels(settings.value.endpoint, signal);
        const { model } = settings.value.endpoint;
        // Somebody who asks for a list wants one of it.
        if (listed[0] !== undefined && !listed.includes(model)) change({ model: listed[0] });
        return listed;
    };
    return (
        <section class="card">
            <h2>Endpoint</h2>
            <Check
                label="Answer with another server instead of this device"
                checked={useEndpoint}
                onChange={(on) => settings.update({ useEndpoint: on })}
            />
            <form
                class="endpoint"
                noValidate
                onSubmit={(event) => {
                    event.preventDefault();
                    tidy();
                    models.run(ask);
                }}
            >
                <div class="row">
                    <label>
                        <span>Kind</span>
                        <select
                            value={endpoint.kind}
                            onChange={({ currentTarget }) => change({ kind: currentTarget.value as Endpoint['kind'] })}
                        >
                            <option value="openai">OpenAI-compatible</option>
                            <option value="ollama">Ollama</option>
                        </select>
                    </label>
                    <label class="wide">
                        <span>Address</span>
                        <input
                            type="url"
                            placeholder={endpoint.kind === 'ollama' ? 'http://localhost:11434' : 'http://localhost:8080/v1'}
                            value={endpoint.url}
                            onInput={({ currentTarget }) => change({ url: currentTarget.value })}
                            onBlur={tidy}
                        />
                    </label>
                    <label>
                        <span>Model</span>
                        <input
                            list="endpoint-models"
                            value={endpoint.model}
                            onInput={({ currentTarget }) => change({ model: currentTarget.value })}
                        />
                        <datalist id="endpoint-models">
                            {models.result?.map((name) => <option key={name} value={name} />)}
                        </datalist>
                    </label>
                    <label>
                        <span>Key, if it wants one</span>
                        <input
                            type="password"
                            autocomplete="off"
                            value={endpoint.key}
                            onInput={({ currentTarget }) => change({ key: currentTarget.value })}
                        />
                    </label>
                </div>
                <p class="buttons">
                    <button type="submit" class="button" disabled={models.running || endpoint.url.trim() === ''}>
                        Ask for its models
                    </button>
                    <span role="status">
                        {models.problem ? (
                            <span class="problem">{models.problem}</span>
                        ) : (
                            models.result && describeModels(models.result)
                        )}
                    </span>
                </p>
            </form>
        </section>
    );
}

function describeModels(names: string[]): string {
    if (names.length === 0) return 'It has no models yet.';
    const shown = names.slice(0, 5).join(', ');
    return names.length === 1 ? `One model: ${shown}` : `${names.length} models: ${shown}${names.length > 5 ? ' …' : ''}`;
}

function DataSettings() {
    const { conversations } = useApp();
    const kept = useObserved(conversations.list).filter(({ deletedAt }) => deletedAt === undefined);
    const exportAll = async () => {
        const all = [];
        for (const { id } of kept) all.push(await conversations.load(id));
        const text = JSON.stringify({ format: 'lapidary-conversations', version: 1, conversations: all }, null, 2);
        saveFile('lapidary-conversations.json', `${text}\n`, 'application/json');
    };
    return (
        <section class="card">
            <h2>Conversations</h2>
            <p>
                {kept.length === 1 ? 'One conversation is' : `${kept.length} conversations are`} kept in this browser and nowhere
                else.
            </p>
            <button type="button" class="button" disabled={kept.length === 0} onClick={() => void exportAll()}>
                Export all as JSON
            </button>
        </section>
    );
}

function Check({ label, checked, onChange }: { label: string; checked: boolean; onChange: (on: boolean) => void }) {
    return (
        <label class="check">
            <input type="checkbox" checked={checked} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
            <span>{label}</span>
        </label>
    );
}

function NumericInput({ name, label, value }: { name: NumericSetting; label: string; value: Settings }) {
    const change = (number: number | undefined) => settings.update({ [name]: number });
    return <NumberInput label={label} range={ranges[name]} value={value[name]} onChange={change} />;
}
