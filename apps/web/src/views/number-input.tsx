// A number that may be left open; what cannot be used is said below it, and changes nothing.
import { useId, useState } from 'preact/hooks';
import { problemIn, type Range } from '../store/settings.js';

export interface NumberInputProps {
    label: string;
    range: Range;
    value: number | undefined;
    onChange: (value: number | undefined) => void;
}

export function NumberInput({ label, range, value, onChange }: NumberInputProps) {
    const problemId = useId();
    // What is being typed may not be a number yet.
    const [text, setText] = useState(() => String(value ?? ''));
    const [problem, setProblem] = useState<string>();
    return (
        <label>
            <span>{label}</span>
            <input
                type="number"
                inputMode="decimal"
                min={range.min}
                max={range.max}
                step={range.whole ? 1 : 'any'}
                placeholder="automatic"
                aria-invalid={problem !== undefined}
                aria-describedby={problem && problemId}
                value={text}
                onInput={({ currentTarget }) => {
                    setText(currentTarget.value);
                    const empty = currentTarget.value === '' && !currentTarget.validity.badInput;
                    const wrong = empty ? undefined : problemIn(range, currentTarget.valueAsNumber);
                    setProblem(wrong);
                    // Meanwhile the last good one stays.
                    if (wrong === undefined) onChange(empty ? undefined : currentTarget.valueAsNumber);
                }}
            />
            {problem && (
                <small id={problemId} class="problem" role="alert">
                    {problem}
                </small>
            )}
        </label>
    );
}
