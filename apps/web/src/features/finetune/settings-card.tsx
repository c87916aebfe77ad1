// How to learn it: a preset, the numbers behind it for who wants them, and what it will take.
import type { TrainSettings, TrainingPlan } from 'lapidary';
import { useEffect, useState } from 'preact/hooks';
import { useApp } from '../../app.js';
import { presets, settingsFor, type PresetName } from './presets.js';
import { startRun } from './runner.js';
import { useObserved } from '../../store/observable.js';
import { formatBytes, formatCount, formatDuration, formatLarge } from '../../views/format.js';
import { Facts } from '../../views/page.js';
import { notify } from '../../views/notices.js';
import { sentence } from '../../chat/answer.js';
import { useTask } from '../../views/use-task.js';
import type { Draft } from './data-card.js';

type NumberName = 'rank' | 'alpha' | 'lr' | 'epochs' | 'batch' | 'seq' | 'validation' | 'dropout' | 'weightDecay' | 'warmup' | 'seed';

const fields: { name: NumberName; label: string; min: number; max: number; step: number | 'any'; usual: string }[] = [
    { name: 'rank', label: 'Rank', min: 1, max: 256, step: 1, usual: '16' },
    { name: 'alpha', label: 'Alpha', min: 0.001, max: 10_000, step: 'any', usual: 'twice the rank' },
    { name: 'lr', label: 'Learning rate', min: 0, max: 1, step: 'any', usual: '0.0002' },
    { name: 'epochs', label: 'Times through the data', min: 1, max: 10_000, step: 1, usual: '1' },
    { name: 'batch', label: 'Examples a step', min: 1, max: 4096, step: 1, usual: '1' },
    { name: 'seq', label: 'Longest example, in tokens', min: 8, max: 131_072, step: 1, usual: '512' },
    { name: 'validation', label: 'Share kept back to check', min: 0, max: 0.5, step: 'any', usual: '0' },
    { name: 'warmup', label: 'Share of steps to warm up', min: 0, max: 1, step: 'any', usual: '0' },
    { name: 'dropout', label: 'Dropout', min: 0, max: 0.9, step: 'any', usual: '0' },
    { name: 'weightDecay', label: 'Weight decay', min: 0, max: 10, step: 'any', usual: '0.01' },
    { name: 'seed', label: 'Seed', min: 0, max: 2 ** 32 - 1, step: 1, usual: '0' },
];

// Typing a number should not start a plan with each key.
const patienceMs = 400;
const mostQuestions = 4;

export function SettingsCard({ draft }: { draft: Draft }) {
    const { engine } = useApp();
    const { name: model, phase } = useObserved(engine.state);
    const [preset, setPreset] = useState<PresetName>('quick');
    const [own, setOwn] = useState<Partial<TrainSettings>>({});
    const [name, setName] = useState(nameOf(draft.name));
    const [questions, setQuestions] = useState(() => draft.report.questions.slice(0, mostQuestions).join('\n'));
    const settings: TrainSettings = { ...settingsFor(preset, draft.report), ...own };
    const wish = JSON.stringify(settings);
    const plan = useTask<TrainingPlan>();
    useEffect(() => {
        const timer = setTimeout(() => {
            const { file, options } = draft;
            plan.run(async (signal) => await engine.call('plan', { file, options, settings }, undefined, signal));
        }, patienceMs);
        return () => clearTimeout(timer);
    }, [wish, draft, model]);
    const start = async () => {
        try {
            await startRun(engine, {
                name: name.trim() || nameOf(draft.name),
                model,
                settings,
                dataOptions: draft.options,
                steps: plan.result?.steps ?? 0,
                data: draft.file,
                questions: questions.split('\n').map((line) => line.trim()).filter(Boolean),
            });
        } catch (error) {
            notify(`The training could not be kept in this browser. ${sentence(error)}`);
        }
    };
    return (
        <section class="card" aria-label="Training">
            <h2>How to learn it</h2>
            <div class="presets" role="radiogroup" aria-label="Preset">
                {presets.map((one) => (
                    <label key={one.name} class="preset">
                        <input
                            type="radio"
                            name="preset"
                            checked={preset === one.name}
                            onChange={() => {
                                setPreset(one.name);
                                setOwn({});
                            }}
                        />
                        <strong>{one.label}</strong>
                        <span>{one.words}</span>
                    </label>
                ))}
            </div>
            <div class="row">
                <label>
                    <span>Name of the adapter</span>
                    <input value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
                </label>
                <label class="wide">
                    <span>Questions to ask before and after, one a line</span>
                    <textarea
                        rows={Math.min(6, Math.max(2, questions.split('\n').length))}
                        value={questions}
                        onInput={({ currentTarget }) => setQuestions(currentTarget.value)}
                    />
                </label>
            </div>
            <details class="advanced">
                <summary>Advanced</summary>
                <div class="row">
                    {fields.map((field) => (
                        <NumberField key={`${preset} ${field.name}`} field={field} value={settings[field.name]} onChange={setOwn} />
                    ))}
                    <label>
                        <span>Learning rate over time</span>
                        <select
                            value={settings.schedule ?? 'cosine'}
                            onChange={({ currentTarget }) => {
                                const schedule = currentTarget.value as NonNullable<TrainSettings['schedule']>;
                                setOwn((before) => ({ ...before, schedule }));
                            }}
                        >
                            <option value="cosine">falls as a cosine</option>
                            <option value="linear">falls evenly</option>
                            <option value="constant">stays</option>
                        </select>
                    </label>
                </div>
            </details>
            <Needs plan={plan.result} problem={plan.problem} settings={settings} draft={draft} />
            <button type="button" class="button primary" disabled={phase !== 'ready' || draft.report.examples === 0} onClick={() => void start()}>
                Start training
            </button>
        </section>
    );
}

function Needs(props: { plan: TrainingPlan | undefined; problem: string | undefined; settings: TrainSettings; draft: Draft }) {
    const { plan, problem, settings, draft } = props;
    if (problem) {
        return (
            <p class="problem" role="alert">
                {problem}
            </p>
        );
    }
    const seconds = estimate(plan, settings, draft);
    return (
        <Facts
            facts={[
                ['Steps', plan ? formatCount(plan.steps) : '…'],
                ['Trained numbers', plan ? formatLarge(plan.parameters) : '…'],
                ['Memory needed', plan ? formatBytes(plan.memory) : '…'],
                ['Time', seconds === undefined ? 'known after the first steps' : `about ${formatDuration(seconds)}`],
            ]}
        />
    );
}

const speedKey = 'lapidary-training-speed';

/** From how fast the last training was; nobody knows before the first. */
function estimate(plan: TrainingPlan | undefined, { epochs = 1 }: TrainSettings, { report }: Draft): number | undefined {
    const speed = Number(localStorage.getItem(speedKey));
    return plan && speed > 0 ? (report.tokens * epochs) / speed : undefined;
}

export function rememberSpeed(tokensPerSecond: number): void {
    if (tokensPerSecond > 0) localStorage.setItem(speedKey, tokensPerSecond.toPrecision(4));
}

interface NumberFieldProps {
    field: (typeof fields)[number];
    value: number | undefined;
    onChange: (change: (before: Partial<TrainSettings>) => Partial<TrainSettings>) => void;
}

function NumberField({ field, value, onChange }: NumberFieldProps) {
    const { name, label, min, max, step, usual } = field;
    // What is being typed may not be a number yet.
    const [text, setText] = useState(() => String(value ?? ''));
    return (
        <label>
            <span>{label}</span>
            <input
                type="number"
                inputMode="decimal"
                min={min}
                max={max}
                step={step}
                placeholder={usual}
                value={text}
                onInput={({ currentTarget }) => {
                    setText(currentTarget.value);
                    const number = currentTarget.valueAsNumber;
                    if (number >= min && number <= max) onChange((before) => ({ ...before, [name]: number }));
                }}
            />
        </label>
    );
}

function nameOf(source: string): string {
    return source.replace(/\.\w+$/, '').slice(0, 60);
}
