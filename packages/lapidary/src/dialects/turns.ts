// A conversation, put together from pieces that other interfaces keep apart: thoughts, words and calls of one turn.
import { isObject, type JsonObject } from '../json.js';
import { readableArguments } from './tools.js';

export class Turns {
    readonly messages: JsonObject[] = [];

    say(role: string, text: string | JsonObject[]): void {
        if (role !== 'assistant' || typeof text !== 'string') {
            this.messages.push({ role, content: text });
            return;
        }
        const turn = this.assistant((open) => !('tool_calls' in open));
        turn['content'] = `${String(turn['content'])}${text}`;
    }

    think(text: string): void {
        if (text === '') return;
        // Thoughts begin a turn, unless they go on.
        const turn = this.assistant((open) => open['content'] === '' && !('tool_calls' in open));
        turn['reasoning_content'] = `${typeof turn['reasoning_content'] === 'string' ? turn['reasoning_content'] : ''}${text}`;
    }

    call(id: string, name: string, given: string): void {
        const turn = this.assistant(() => true);
        const calls = Array.isArray(turn['tool_calls']) ? turn['tool_calls'] : [];
        turn['tool_calls'] = [...calls, { id, type: 'function', function: { name, arguments: readableArguments(given) } }];
    }

    result(id: string, text: string | JsonObject[]): void {
        this.messages.push({ role: 'tool', tool_call_id: id, content: text });
    }

    /** The turn that the next piece belongs to: the last message, if it is one that `fits`. */
    private assistant(fits: (open: JsonObject) => boolean): JsonObject {
        const last = this.messages.at(-1);
        if (isObject(last) && last['role'] === 'assistant' && fits(last)) return last;
        const turn: JsonObject = { role: 'assistant', content: '' };
        this.messages.push(turn);
        return turn;
    }
}
