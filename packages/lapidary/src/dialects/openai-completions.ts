// The same for plain text.
import type { EngineInfo } from '../options.js';
import type { Completion, CompletionLogprobs } from '../openai.js';
import type { GenerateEvent, GenerateResult, Logprob } from '../session.js';
import { newHead, usageOf, type Head, type Stopwatch } from './head.js';

/** How likely a token was; of the first token of all nobody can say. */
export type TextScore = Pick<Logprob, 'text'> & Partial<Pick<Logprob, 'logprob' | 'top'>>;

/** The prompt, told before the answer. */
export interface Echo {
    text: string;
    scores: readonly TextScore[];
}

export class TextAnswer {
    private readonly head: Head;
    private readonly logprobs: TextScore[] = [];
    private echo: Echo = { text: '', scores: [] };
    private told = 0;

    constructor(
        info: EngineInfo,
        private readonly topLogprobs: number | undefined,
        private readonly watch: Stopwatch,
        private readonly includeUsage = false,
    ) {
        this.head = newHead('cmpl-', info);
    }

    /** Before anything of the answer. */
    begin(echo: Echo): Completion[] {
        this.echo = echo;
        return echo.text === '' ? [] : [this.part(echo.text, null, this.logprobsOf(echo.scores))];
    }

    take(event: GenerateEvent): Completion[] {
        this.watch.tick();
        const logprobs = ('logprobs' in event ? event.logprobs : undefined) ?? [];
        this.logprobs.push(...logprobs);
        if (event.type !== 'text' || (event.text === '' && logprobs.length === 0)) return [];
        return [this.part(event.text, null, this.logprobsOf(logprobs))];
    }

    finish(result: GenerateResult): Completion[] {
        const last = this.part('', finishReason(result), null);
        const timings = this.watch.timings(result);
        if (!this.includeUsage) return [{ ...last, timings }];
        return [last, { ...this.head, object: 'text_completion', choices: [], usage: usageOf(result), timings }];
    }

    completion(result: GenerateResult): Completion {
        this.told = 0;
        const { text, scores } = this.echo;
        return {
            ...this.part(text + result.text, finishReason(result), this.logprobsOf([...scores, ...this.logprobs])),
            usage: usageOf(result),
            timings: this.watch.timings(result),
        };
    }

    private part(text: string, finish_reason: 'stop' | 'length' | null, logprobs: CompletionLogprobs | null): Completion {
        return {
            ...this.head,
            object: 'text_completion',
            choices: [{ index: 0, text, finish_reason, logprobs }],
            ...(this.includeUsage ? { usage: null } : {}),
        };
    }

    /** OpenAI's older way: four lists side by side. */
    private logprobsOf(given: readonly TextScore[]): CompletionLogprobs | null {
        const { topLogprobs } = this;
        if (topLogprobs === undefined) return null;
        const lists: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
        for (const { text, logprob, top } of given) {
            lists.tokens.push(text);
            lists.token_logprobs.push(logprob ?? null);
            const likely = top?.slice(0, topLogprobs).map((one) => [one.text, one.logprob] as const);
            lists.top_logprobs.push(likely ? Object.fromEntries(likely) : null);
            lists.text_offset.push(this.told);
            this.told += text.length;
        }
        return lists;
    }
}

function finishReason({ finish_reason }: GenerateResult): 'stop' | 'length' {
    return finish_reason === 'length' ? 'length' : 'stop';
}
