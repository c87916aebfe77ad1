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
    /** How often it went on. */
    turns: number;
}

// A conversation is kept while the others are used so many times, and for as many more for every turn it has had, up to a
// limit. So a single question, such as a program's wish for a title, makes room sooner than a long conversation.
const usesPerTurn = 8;
const mostTurns = 8;

export class Conversations {
    private readonly kept: Kept[] = [];
    private uses = 0;

    constructor(
        private readonly create: (signal: AbortSignal | undefined) => Promise<Session>,
        private most: number,
    ) {}

    async generate(request: GenerateRequest, { signal, ...listeners }: GenerateContext): Promise<GenerateResult> {
        const words = wordsOf(request);
        const wanted = words.head + words.talk;
        const { kept, goesOn } = await this.choose(words, signal);
        kept.turns = goesOn ? kept.turns + 1 : 0;
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
        this.kept.push({ session, held: '', lastUse: 0, turns: 0 });
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

    private async choose({ head, talk }: Words, signal: AbortSignal | undefined): Promise<{ kept: Kept; goesOn: boolean }> {
        const wanted = head + talk;
        let best: Kept | undefined;
        let most = 0;
        for (const kept of this.kept) {
            const common = commonLength(kept.held, wanted);
            // Neither shared instructions nor a shared greeting are a shared conversation: using the session would cost
            // the other one its memory.
            const sameConversation = (common - head.length) * 2 >= kept.held.length - head.length || common === wanted.length;
            if (sameConversation && common > head.length && common > most) [best, most] = [kept, common];
        }
        if (best) return { kept: best, goesOn: true };
        const unused = () => this.kept.find(({ held }) => held === '');
        if (!unused() && this.kept.length < this.most) await this.another(signal);
        return { kept: unused() ?? this.leastWorth(), goesOn: false };
    }

    /** Who makes room. */
    private leastWorth(): Kept {
        const first = this.kept.reduce((one, other) => (until(other) < until(one) ? other : one));
        if (until(first) < this.uses) return first;
        // All are worth keeping. Give up the latest that has had a single turn: an older one may be the beginning of
        // a conversation, and the later ones are probably questions that a program asks beside it.
        const single = this.kept.filter(({ turns }) => turns === 0);
        return single.reduce((one, other) => (other.lastUse > one.lastUse ? other : one), single[0] ?? first);
    }
}

/** How long it is worth keeping, in uses. */
function until({ lastUse, turns }: Kept): number {
    return lastUse + (1 + Math.min(turns, mostTurns)) * usesPerTurn;
}

function commonLength(a: string, b: string): number {
    const most = Math.min(a.length, b.length);
    let length = 0;
    while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length++;
    return length;
}

/** In the order in which the model reads them. */
interface Words {
    /** What all conversations of a program may have in common: tools and instructions. */
    head: string;
    talk: string;
}

function wordsOf({ prompt, prompt_tokens, messages = [], tools, thinking, adapters }: GenerateRequest): Words {
    // With other adapters the same words mean something else.
    const with_ = adapters?.length ? JSON.stringify(adapters) : '';
    if (prompt !== undefined) return { head: `prompt ${with_}`, talk: prompt };
    if (prompt_tokens) return { head: `tokens ${with_}`, talk: prompt_tokens.join(' ') };
    const before = `chat ${with_} ${thinking ? 'thinking' : ''} ${tools ? JSON.stringify(tools) : ''}`;
    const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
    const instructions = first < 0 ? messages.length : first;
    return {
        head: before + messages.slice(0, instructions).map(messageWords).join(''),
        talk: messages.slice(instructions).map(messageWords).join(''),
    };
}

/** Only what a client sends back: it may leave out the reasoning, or order the members differently. */
function messageWords({ role, content, tool_calls }: JsonObject): string {
    return `\0${String(role)}\0${textOf(content)}${Array.isArray(tool_calls) ? tool_calls.map(callWords).join('') : ''}`;
}

function textOf(content: JsonValue | undefined): string {
    if (typeof content === 'string') return content;
    if (!Array.isArray(content)) return '';
    return content.map((part) => (isObject(part) ? partWords(part) : '')).join('');
}

/** Pictures and sounds have the same number as long as they are the same. */
function partWords({ text, media, frames }: JsonObject): string {
    if (typeof text === 'string') return text;
    return media !== undefined || frames !== undefined ? `\0${JSON.stringify(media ?? frames)}` : '';
}

function callWords(call: JsonValue): string {
    const made = isObject(call) ? call['function'] : undefined;
    return isObject(made) ? `\0${String(made['name'])}${JSON.stringify(made['arguments'])}` : '';
}
