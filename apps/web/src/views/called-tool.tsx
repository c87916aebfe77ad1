// A call the model made. People are the tools: they look up what was asked for, and type it in.
import { useState } from 'preact/hooks';
import type { ToolCall } from '../store/conversation.js';
import { Icon } from './icons.js';

interface CalledToolProps {
    call: ToolCall;
    answered: boolean;
    disabled: boolean;
    onResult: (text: string) => void;
}

export function CalledTool({ call, answered, disabled, onResult }: CalledToolProps) {
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
