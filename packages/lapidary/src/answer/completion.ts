// The same for plain text.
import type { Completion, CompletionLogprobs } from '../openai.js';
import type { GenerateEvent, GenerateResult, Logprob } from '../session.js';
import { newHead, usageOf, type Head, type Stopwatch } from './measure.js';

export class TextAnswer {
    private readonly head: Head;
    private readonly logprobs: Logprob[] = [];
    private told = 0;

    constructor(
        model: string,
        private readonly topLogprobs: number | undefined,
        private readonly watch: Stopwatch,
    ) {
        this.head = newHead('cmpl-', model);
    }

    take(event: GenerateEvent): Completion[] {
        this.watch.tick();
        const logprobs = ('logprobs' in event ? event.logprobs : undefined) ?? [];
        this.logprobs.push(...logprobs);
        if (event.type !== 'text' || (event.text === '' && logprobs.length === 0)) return [];
        return [this.part(event.text, null, this.logprobsOf(logprobs))];
    }

    finish(result: GenerateResult, includeUsage: boolean): Completion[] {
        const last = this.part('', finishReason(result), null);
        const timings = this.watch.timings(result);
        if (!includeUsage) return [{ ...last, timings }];
        return [last, { ...this.head, object: 'text_completion', choices: [], usage: usageOf(result), timings }];
    }

    completion(result: GenerateResult): Completion {
        this.told = 0;
        return {
            ...this.part(result.text, finishReason(result), this.logprobsOf(this.logprobs)),
            usage: usageOf(result),
            timings: this.watch.timings(result),
        };
    }

    private part(text: string, finish_reason: 'stop' | 'length' | null, logprobs: CompletionLogprobs | null): Completion {
        return { ...this.head, object: 'text_completion', choices: [{ index: 0, text, finish_reason, logprobs }] };
    }

    /** OpenAI's older way: four lists side by side. */
    private logprobsOf(given: readonly Logprob[]): CompletionLogprobs | null {
        const { topLogprobs } = this;
        if (topLogprobs === undefined) return null;
        const lists: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
        for (const { text, logprob, top } of given) {
            lists.tokens.push(text);
            lists.token_logprobs.push(logprob);
            lists.top_logprobs.push(Object.fromEntries(top.slice(0, topLogprobs).map((one) => [one.text, one.logprob])));
            lists.text_offset.push(this.told);
            this.told += text.length;
        }
        return lists;
    }
}

function finishReason({ finish_reason }: GenerateResult): 'stop' | 'length' {
    return finish_reason === 'length' ? 'length' : 'stop';
}
