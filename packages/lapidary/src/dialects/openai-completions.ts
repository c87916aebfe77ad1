// The same for plain text.
import type { Score } from '../answer/events.js';
import type { Completion, CompletionLogprobs } from '../openai.js';
import type { Words } from './dialect.js';
import { measured, usageOf, type Head } from './head.js';
import type { ChatEcho } from './openai-chat.js';

export const openAiCompletions: Words<ChatEcho, Completion, Completion> = {
    prefix: 'cmpl-',

    pieces(head, echo) {
        const { topLogprobs, includeUsage } = echo;
        const offset = { told: 0 };
        return (event) => {
            if (event.type === 'content') {
                const { text, logprobs = [] } = event;
                if (text === '' && logprobs.length === 0) return [];
                return [part(head, echo, text, null, logprobsOf(logprobs, topLogprobs, offset))];
            }
            if (event.type !== 'end') return [];
            const last = part(head, echo, '', finishOf(event.finish), null);
            const { timings } = measured(event);
            if (!includeUsage) return [{ ...last, timings }];
            return [last, { ...head, object: 'text_completion', choices: [], usage: usageOf(event), timings }];
        };
    },

    whole(head, echo, { content, logprobs, end }) {
        const lists = logprobsOf(logprobs, echo.topLogprobs, { told: 0 });
        const { timings } = measured(end);
        return { ...part(head, echo, content, finishOf(end.finish), lists), usage: usageOf(end), timings };
    },
};

type Finish = 'stop' | 'length';

function part(head: Head, { includeUsage }: ChatEcho, text: string, finish_reason: Finish | null, logprobs: CompletionLogprobs | null): Completion {
    return {
        ...head,
        object: 'text_completion',
        choices: [{ index: 0, text, finish_reason, logprobs }],
        ...(includeUsage ? { usage: null } : {}),
    };
}

/** OpenAI's older way: four lists side by side. */
function logprobsOf(given: readonly Score[], most: number | undefined, offset: { told: number }): CompletionLogprobs | null {
    if (most === undefined) return null;
    const lists: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
    for (const { text, logprob, top } of given) {
        lists.tokens.push(text);
        lists.token_logprobs.push(logprob ?? null);
        const likely = top?.slice(0, most).map((one) => [one.text, one.logprob] as const);
        lists.top_logprobs.push(likely ? Object.fromEntries(likely) : null);
        lists.text_offset.push(offset.told);
        offset.told += text.length;
    }
    return lists;
}

function finishOf(finish: string): Finish {
    return finish === 'length' ? 'length' : 'stop';
}
