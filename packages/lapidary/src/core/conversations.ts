// A few sessions, each holding one conversation, so that each can go on without being read again. Which session fits a
// request best is told from the words of both: tokens are the engine's business, and a wrong guess costs time only.
import { LapidaryError } from '../error.js';
import { isObject, type JsonObject, type JsonValue } from '../json.js';
import type { GenerateContext } from './core.js';
import type { GenerateRequest, GenerateResult, Session } from '../session.js';

interface Kept {
    session: Session;
    /** What it has read and written, in words. */
    held: string;
    lastUse: number;
}

export class Conversations {
    private readonly kept: Kept[] = [];
    private uses = 0;

    constructor(
        private readonly create: (signal: AbortSignal | undefined) => Promise<Session>,
        private most: number,
    ) {}

    async generate(request: GenerateRequest, { signal, ...listeners }: GenerateContext): Promise<GenerateResult> {
        const wanted = wordsOf(request);
        const kept = await this.choose(wanted, signal);
        kept.lastUse = ++this.uses;
        kept.held = wanted; // also if it fails half-way: more than this was not promised
        const result = await kept.session.generate(request, {
            ...(listeners.onEvent ? { onEvent: listeners.onEvent } : {}),
            ...(listeners.onProgress ? { onProgress: listeners.onProgress } : {}),
            ...(signal ? { signal } : {}),
        });
        kept.held = wanted + (result.message ? messageWords(result.message) : result.text);
        return result;
    }

    /** Makes one beforehand, so that what is missing for it shows at once. */
    async prepare(signal: AbortSignal | undefined): Promise<Session> {
        const session = await this.create(signal);
        this.kept.push({ session, held: '', lastUse: 0 });
        return session;
    }

    /** One more, unless there is no memory for it: then those that are there must do. */
    private async another(signal: AbortSignal | undefined): Promise<void> {
        try {
            await this.prepare(signal);
        } catch (error) {
            if (!(error instanceof LapidaryError) || error.code !== 'out_of_memory') throw error;
            this.most = this.kept.length;
        }
    }

    private async choose(wanted: string, signal: AbortSignal | undefined): Promise<Kept> {
        let best: Kept | undefined;
        let most = 0;
        for (const kept of this.kept) {
            const common = commonLength(kept.held, wanted);
            // A shared greeting is not a shared conversation: using the session would cost the other one its memory.
            const sameConversation = common * 2 >= kept.held.length || common === wanted.length;
            if (sameConversation && common > most) [best, most] = [kept, common];
        }
        if (best) return best;
        const unused = this.kept.find(({ held }) => held === '');
        if (unused) return unused;
        if (this.kept.length < this.most) await this.another(signal);
        return this.kept.reduce((oldest, kept) => (kept.lastUse < oldest.lastUse ? kept : oldest));
    }
}

function commonLength(a: string, b: string): number {
    const most = Math.min(a.length, b.length);
    let length = 0;
    while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length++;
    return length;
}

/** In the order in which the model reads it. */
function wordsOf({ prompt, messages, tools, thinking, adapters }: GenerateRequest): string {
    // With other adapters the same words mean something else.
    const with_ = adapters?.length ? JSON.stringify(adapters) : '';
    if (prompt !== undefined) return `prompt ${with_}${prompt}`;
    const before = `chat ${with_} ${thinking ? 'thinking' : ''} ${tools ? JSON.stringify(tools) : ''}`;
    return before + (messages ?? []).map(messageWords).join('');
}

/** Only what a client sends back: it may leave out the reasoning, or order the members differently. */
function messageWords({ role, content, tool_calls }: JsonObject): string {
    return `\0${String(role)}\0${textOf(content)}${Array.isArray(tool_calls) ? tool_calls.map(callWords).join('') : ''}`;
}

function textOf(content: JsonValue | undefined): string {
    if (typeof content === 'string') return content;
    if (!Array.isArray(content)) return '';
    return content.map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('');
}

function callWords(call: JsonValue): string {
    const made = isObject(call) ? call['function'] : undefined;
    return isObject(made) ? `\0${String(made['name'])}${JSON.stringify(made['arguments'])}` : '';
}
