// OpenAI's chat completions, in one piece and in chunks.
import type { AnswerEvent, Call, Score } from '../answer/events.js';
import type {
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionDelta,
    ChoiceLogprobs,
    FinishReason,
    ToolCall,
    TopLogprob,
} from '../openai.js';
import type { Dialect } from './dialect.js';
import { measured, usageOf } from './head.js';
import { checkChat } from './openai-chat-request.js';

export interface ChatEcho {
    /** How many likely tokens to tell at each place; undefined when none at all are asked for. */
    topLogprobs: number | undefined;
    /** The usage comes at the end of the stream; until then chunks say that it does. */
    includeUsage: boolean;
}

export const openAiChat: Dialect<ChatEcho, ChatCompletionChunk, ChatCompletion> = {
    prefix: 'chatcmpl-',

    read(body) {
        const { generate, stream, topLogprobs, includeUsage } = checkChat(body);
        return { request: generate, stream, echo: { topLogprobs, includeUsage } };
    },

    pieces(head, { topLogprobs, includeUsage }) {
        const chunk = (
            delta: ChatCompletionDelta,
            finish_reason: FinishReason | null = null,
            logprobs: ChoiceLogprobs | null = null,
        ): ChatCompletionChunk => ({
            ...head,
            object: 'chat.completion.chunk',
            choices: [{ index: 0, delta, finish_reason, logprobs }],
            ...(includeUsage ? { usage: null } : {}),
        });
        /** Tokens for the next chunk. */
        let untold: number[] = [];
        const tokens = () => {
            const told = untold;
            untold = [];
            return told.length > 0 ? { tokens: told } : {};
        };
        const of = (event: AnswerEvent): ChatCompletionChunk[] => {
            switch (event.type) {
                case 'content':
                    if (event.text === '') return [];
                    return [chunk({ content: event.text, ...tokens() }, null, logprobsOf(event.logprobs, topLogprobs))];
                case 'reasoning':
                    return [chunk({ reasoning_content: event.text, ...tokens() })];
                case 'call':
                    return [chunk({ tool_calls: [{ index: event.index, ...callOf(event) }], ...tokens() })];
                case 'arguments': {
                    const { index, text } = event;
                    return [chunk({ tool_calls: [{ index, function: { arguments: text } }], ...tokens() })];
                }
                case 'invalid_call':
                    return [chunk({ invalid_tool_calls: [{ text: event.text, error: event.error }], ...tokens() })];
                case 'tokens':
                    untold.push(...event.tokens);
                    return [];
                case 'end': {
                    const last = chunk(tokens(), event.finish);
                    if (!includeUsage) return [{ ...last, ...measured(event) }];
                    const { usage: _, ...rest } = chunk({});
                    return [last, { ...rest, choices: [], usage: usageOf(event), ...measured(event) }];
                }
                default:
                    return [];
            }
        };
        const first = [chunk({ role: 'assistant', content: '' })]; // readers expect the role before anything else
        return (event) => {
            const made = of(event);
            return made.length === 0 ? made : [...first.splice(0), ...made];
        };
    },

    whole(head, { topLogprobs }, { content, reasoning, calls, invalid, logprobs, end }) {
        return {
            ...head,
            object: 'chat.completion',
            choices: [
                {
                    index: 0,
                    message: {
                        role: 'assistant',
                        content: content === '' && calls.length > 0 ? null : content,
                        refusal: null,
                        ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
                        ...(calls.length > 0 ? { tool_calls: calls.map(callOf) } : {}),
                        ...(invalid.length > 0 ? { invalid_tool_calls: invalid } : {}),
                    },
                    finish_reason: end.finish,
                    logprobs: logprobsOf(logprobs, topLogprobs),
                },
            ],
            usage: usageOf(end),
            ...measured(end),
        };
    },
};

function callOf({ id, name, arguments: given }: Call): ToolCall {
    return { id, type: 'function', function: { name, arguments: given } };
}

function logprobsOf(given: readonly Score[] | undefined, most: number | undefined): ChoiceLogprobs | null {
    if (!given || most === undefined) return null;
    const content = given.map((entry) => ({
        ...asTopLogprob(entry),
        top_logprobs: (entry.top ?? []).slice(0, most).map(asTopLogprob),
    }));
    return { content, refusal: null };
}

function asTopLogprob({ text, logprob = 0, bytes }: Score): TopLogprob {
    return { token: text, logprob, bytes };
}
