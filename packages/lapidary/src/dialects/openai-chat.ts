// From the engine's events and its result to OpenAI's chat completion, in one piece and in chunks.
import type { CalledFunction } from '../messages.js';
import type {
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionDelta,
    ChoiceLogprobs,
    FinishReason,
    InvalidToolCall,
    TokenLogprob,
    ToolCall,
    TopLogprob,
} from '../openai.js';
import type { EngineInfo } from '../options.js';
import type { GenerateEvent, GenerateResult, Logprob } from '../session.js';
import { newHead, newId, usageOf, type Head, type Stopwatch } from './head.js';

export class ChatAnswer {
    private readonly head: Head;
    /** The engine counts the calls of one answer; across a conversation their names must differ. */
    private readonly callPrefix = newId('call_').slice(0, 13);
    private readonly logprobs: TokenLogprob[] = [];
    private readonly invalidCalls: InvalidToolCall[] = [];
    private begun = false;
    /** Tokens for the next chunk. */
    private untold: number[] = [];

    constructor(
        info: EngineInfo,
        private readonly topLogprobs: number | undefined,
        private readonly watch: Stopwatch,
        /** The usage comes at the end of the stream; until then chunks say that it does. */
        private readonly includeUsage = false,
    ) {
        this.head = newHead('chatcmpl-', info);
    }

    /** What the event adds, as chunks. */
    take(event: GenerateEvent): ChatCompletionChunk[] {
        this.watch.tick();
        if (event.type === 'tokens') {
            this.untold.push(...event.tokens);
            return [];
        }
        const delta = this.delta(event);
        const logprobs = this.logprobsOf('logprobs' in event ? event.logprobs : undefined);
        if (logprobs?.content) this.logprobs.push(...logprobs.content);
        if (!delta) return [];
        return [...this.begin(), this.chunk({ ...delta, ...this.tokens() }, null, logprobs)];
    }

    /** The end of a stream. */
    finish(result: GenerateResult): ChatCompletionChunk[] {
        const last = this.chunk(this.tokens(), finishReason(result), null);
        const measured = { timings: this.watch.timings(result), ...dropped(result) };
        if (!this.includeUsage) return [...this.begin(), { ...last, ...measured }];
        return [
            ...this.begin(),
            last,
            { ...this.head, object: 'chat.completion.chunk', choices: [], usage: usageOf(result), ...measured },
        ];
    }

    /** The whole answer. */
    completion(result: GenerateResult): ChatCompletion {
        const { message, text } = result;
        const content = message?.content ?? text;
        const calls = (message?.tool_calls ?? []).map((call, index) => this.call(call.function, index));
        const reasoning = message?.reasoning_content;
        return {
            ...this.head,
            object: 'chat.completion',
            choices: [
                {
                    index: 0,
                    message: {
                        role: 'assistant',
                        content: content === '' && calls.length > 0 ? null : content,
                        refusal: null,
                        ...(reasoning !== undefined ? { reasoning_content: reasoning } : {}),
                        ...(calls.length > 0 ? { tool_calls: calls } : {}),
                        ...(this.invalidCalls.length > 0 ? { invalid_tool_calls: this.invalidCalls } : {}),
                    },
                    finish_reason: finishReason(result),
                    logprobs: this.topLogprobs === undefined ? null : { content: this.logprobs, refusal: null },
                },
            ],
            usage: usageOf(result),
            timings: this.watch.timings(result),
            ...dropped(result),
        };
    }

    private tokens(): Pick<ChatCompletionDelta, 'tokens'> {
        const tokens = this.untold;
        this.untold = [];
        return tokens.length > 0 ? { tokens } : {};
    }

    private delta(event: Exclude<GenerateEvent, { type: 'tokens' }>): ChatCompletionDelta | undefined {
        switch (event.type) {
            case 'content':
            case 'text':
                return event.text === '' ? undefined : { content: event.text };
            case 'reasoning':
                return { reasoning_content: event.text };
            case 'tool_call': {
                return { tool_calls: [{ index: event.index, ...this.call(event, event.index) }] };
            }
            case 'invalid_tool_call': {
                const { text, error } = event;
                this.invalidCalls.push({ text, error });
                return { invalid_tool_calls: [{ text, error }] };
            }
        }
    }

    private call({ name, arguments: given }: CalledFunction, index: number): ToolCall {
        return { id: `${this.callPrefix}_${index}`, type: 'function', function: { name, arguments: given } };
    }

    /** Readers expect the role before anything else. */
    private begin(): ChatCompletionChunk[] {
        if (this.begun) return [];
        this.begun = true;
        return [this.chunk({ role: 'assistant', content: '' }, null, null)];
    }

    private chunk(
        delta: ChatCompletionDelta,
        finish_reason: FinishReason | null,
        logprobs: ChoiceLogprobs | null,
    ): ChatCompletionChunk {
        return {
            ...this.head,
            object: 'chat.completion.chunk',
            choices: [{ index: 0, delta, finish_reason, logprobs }],
            ...(this.includeUsage ? { usage: null } : {}),
        };
    }

    private logprobsOf(given: readonly Logprob[] | undefined): ChoiceLogprobs | null {
        const { topLogprobs } = this;
        if (!given || topLogprobs === undefined) return null;
        const content = given.map((entry) => ({
            ...asTopLogprob(entry),
            top_logprobs: entry.top.slice(0, topLogprobs).map(asTopLogprob),
        }));
        return { content, refusal: null };
    }
}

function asTopLogprob({ text, logprob, bytes }: Omit<Logprob, 'top'>): TopLogprob {
    return { token: text, logprob, bytes };
}

function dropped({ dropped_messages }: GenerateResult): { dropped_messages?: number } {
    return dropped_messages === undefined ? {} : { dropped_messages };
}

function finishReason({ finish_reason }: GenerateResult): FinishReason {
    return finish_reason === 'length' || finish_reason === 'tool_calls' ? finish_reason : 'stop';
}
