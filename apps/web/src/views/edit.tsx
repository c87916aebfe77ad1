// One's own message, being put in other words.
import { useEffect, useRef, useState } from 'preact/hooks';
import { isSending, useGrowing } from './composer.js';

/** Without a text: nothing is to change. */
export function Edit({ text, onDone }: { text: string; onDone: (text?: string) => void }) {
    const [value, setValue] = useState(text);
    const input = useRef<HTMLTextAreaElement>(null);
    useGrowing(input, value);
    useEffect(() => {
        input.current?.focus();
        input.current?.setSelectionRange(text.length, text.length);
    }, []);
    const submit = () => onDone(value.trim() || undefined);
    return (
        <form
            class="edit"
            onSubmit={(event) => {
                event.preventDefault();
                submit();
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
                onKeyDown={(event) => {
                    if (!isSending(event)) return;
                    event.preventDefault();
                    submit();
                }}
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
