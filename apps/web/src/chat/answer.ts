// One answer while it is being written: pieces come in, a message grows, and is kept safe as it does.
import type { AnswerStats, Message } from '../store/conversation.js';
import { isAbort, type ChatBackend, type ChatDelta, type ChatRequest } from './backend.js';

// Often enough to look smooth, seldom enough that drawing does not slow the model down.
const showEveryMs = 40;
// What a crash may cost: half a second of text.
const saveEveryMs = 500;

export interface AnswerSinks {
    /** The message changed. */
    show(message: Message): void;
    save(message: Message): Promise<void>;
}

export class Answer {
    /** Tokens so far and since when, for the speed shown meanwhile. A piece is nearly always one token. */
    pieces = 0;
    firstPieceAt: number | undefined;
    private readonly stopper = new AbortController();
    private showTimer: ReturnType<typeof setTimeout> | undefined;
    private savedAt = -Infinity;
    private saving = false;
    private current: Message;
    /** Grows in place: a message has thousands. */
    private tokens: number[] = [];

    /** `start`: an empty answer, or one that goes on. */
    constructor(
        private readonly start: Message,
        private readonly sinks: AnswerSinks,
    ) {
        this.current = start;
        this.restart();
    }

    get message(): Message {
        return this.current;
    }

    stop(): void {
        this.stopper.abort();
    }

    get tokensPerSecond(): number | undefined {
        if (this.firstPieceAt === undefined || this.pieces < 2) return undefined;
        return (this.pieces - 1) / ((performance.now() - this.firstPieceAt) / 1000);
    }

    /** Never rejects: whatever happens is in the message. */
    async run(backend: ChatBackend, request: ChatRequest): Promise<Message> {
        try {
            const outcome = await backend.answer(request, (delta) => this.take(delta), this.stopper.signal);
            this.change({
                status: outcome.finish === 'length' ? 'length' : 'complete',
                model: outcome.model,
                ...(outcome.stats ? { stats: this.wholeStats(outcome.stats) } : {}),
                ...(outcome.leftOut === undefined ? {} : { leftOut: outcome.leftOut }),
            });
            if (this.current.status === 'complete') this.forgetTokens();
        } catch (error) {
            if (isAbort(error)) this.change({ status: 'stopped', ...this.roughStats() });
            else this.change({ status: 'failed', problem: sentence(error), ...this.roughStats() });
        }
        clearTimeout(this.showTimer);
        this.forgetDraft();
        this.sinks.show(this.current);
        await this.sinks.save(this.current);
        return this.current;
    }

    /** At once, as when the page is about to go. */
    async saveNow(): Promise<void> {
        if (this.saving) return;
        this.saving = true;
        this.savedAt = performance.now();
        this.change(this.roughStats());
        try {
            const { draft: _draft, ...kept } = this.current;
            await this.sinks.save(kept);
        } finally {
            this.saving = false;
        }
    }

    private take(delta: ChatDelta): void {
        if (delta.type === 'tokens') return this.note(delta.tokens);
        const { content, reasoning = '', toolCalls = [] } = this.current;
        if (delta.type === 'draft') {
            this.firstPieceAt ??= performance.now(); // a canvas's tokens come all at once, and take as long as it settles
            const { type: _type, ...draft } = delta;
            this.change({ draft });
            return this.showSoon();
        }
        this.forgetDraft();
        this.pieces++;
        this.firstPieceAt ??= performance.now();
        if (delta.type === 'content') this.change({ content: content + delta.text });
        else if (delta.type === 'reasoning') this.change({ reasoning: reasoning + delta.text });
        else if (delta.type === 'tool_call') this.change({ toolCalls: [...toolCalls, delta.call] });
        else this.restart();
        this.showSoon();
    }

    private showSoon(): void {
        this.showTimer ??= setTimeout(() => {
            this.showTimer = undefined;
            this.sinks.show(this.current);
            if (performance.now() - this.savedAt > saveEveryMs) void this.saveNow();
        }, showEveryMs);
    }

    private note(tokens: readonly number[]): void {
        this.tokens.push(...tokens);
        if (this.current.tokens !== this.tokens) this.change({ tokens: this.tokens });
    }

    private restart(): void {
        this.current = this.start;
        this.tokens = [...(this.start.tokens ?? [])];
        this.pieces = 0;
        this.firstPieceAt = undefined;
    }

    private change(fields: Partial<Message>): void {
        this.current = { ...this.current, ...fields };
    }

    private forgetDraft(): void {
        if (!this.current.draft) return;
        const { draft: _draft, ...rest } = this.current;
        this.current = rest;
    }

    private forgetTokens(): void {
        const { tokens: _tokens, ...rest } = this.current;
        this.current = rest;
    }

    /** What this request took, and what the answer took before it. */
    private wholeStats(stats: AnswerStats): AnswerStats {
        const { tokens, stats: before } = this.start;
        const { completionMs = 0 } = before ?? {};
        return {
            ...stats,
            completionTokens: (tokens?.length ?? before?.completionTokens ?? 0) + stats.completionTokens,
            ...(stats.completionMs === undefined ? {} : { completionMs: completionMs + stats.completionMs }),
        };
    }

    /** Of an answer that did not end by itself nobody counted the prompt. */
    private roughStats(): { stats?: AnswerStats } {
        if (this.firstPieceAt === undefined || this.pieces === 0) return {};
        const completionMs = performance.now() - this.firstPieceAt;
        const stats = { promptTokens: 0, ...this.start.stats, completionTokens: this.pieces, completionMs };
        return { stats: this.wholeStats(stats) };
    }
}

export function sentence(error: unknown): string {
    const text = error instanceof Error ? error.message : String(error);
    const capital = text.charAt(0).toUpperCase() + text.slice(1);
    return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}
