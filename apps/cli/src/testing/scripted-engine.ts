// An engine that answers by a script, chosen by the last word of what it is asked, and remembers what it was asked. The
// library around it is the real one.
import { LapidaryError, LoadedEngine, type ByteSource, type GenerateEvent, type GenerateResult, type JsonObject } from 'lapidary';
import type { Load } from '../serve/loaded.js';

export interface Script {
    events: readonly GenerateEvent[];
    result?: Partial<GenerateResult>;
    /** Instead of a result, after so many events. */
    error?: { after: number; code: LapidaryError['code']; sentence: string };
}

const score = (text: string, logprob: number) => ({
    token: 7,
    text,
    bytes: [...new TextEncoder().encode(text)],
    logprob,
    top: [
        { token: 7, text, bytes: [...new TextEncoder().encode(text)], logprob },
        { token: 8, text: 'x', bytes: [120], logprob: -3 },
    ],
});

const content = (text: string): GenerateEvent => ({ type: 'content', text });
const called = (index: number, name: string, args: string) => ({ type: 'tool_call', index, id: `call_${index}`, name, arguments: args }) as const;
const written = (index: number, text: string): GenerateEvent => ({ type: 'arguments', index, text });
const toolCall = (index: number, name: string, args: string) =>
    ({ id: `call_${index}`, type: 'function', function: { name, arguments: args } }) as const;
const oslo = '{"city":"Oslo"}';
const rome = '{"city":"Rome","days":[1,2]}';

export const scripts: Readonly<Record<string, Script>> = {
    words: {
        events: [content('Once'), content(' upon'), content(''), content(' a time 🦊.')],
        result: { text: 'Once upon a time 🦊.' },
    },
    thoughts: {
        events: [{ type: 'reasoning', text: 'They' }, { type: 'reasoning', text: ' greet.' }, content('Hello'), content('!')],
        result: { text: 'Hello!', message: { role: 'assistant', content: 'Hello!', reasoning_content: 'They greet.' } },
    },
    call: {
        events: [called(0, 'weather', oslo)],
        result: {
            finish_reason: 'tool_calls',
            message: { role: 'assistant', content: '', tool_calls: [toolCall(0, 'weather', oslo)] },
        },
    },
    calls: {
        events: [{ type: 'reasoning', text: 'Two.' }, content('Let me see.'), called(0, 'weather', oslo), called(1, 'weather', rome)],
        result: {
            text: 'Let me see.',
            finish_reason: 'tool_calls',
            message: {
                role: 'assistant',
                content: 'Let me see.',
                reasoning_content: 'Two.',
                tool_calls: [toolCall(0, 'weather', oslo), toolCall(1, 'weather', rome)],
            },
        },
    },
    writing: {
        events: [called(0, 'weather', '{'), written(0, '"city":'), written(0, '"Os'), written(0, 'lo"}')],
        result: {
            finish_reason: 'tool_calls',
            message: { role: 'assistant', content: '', tool_calls: [toolCall(0, 'weather', oslo)] },
        },
    },
    unfinished: {
        events: [content('So:'), called(0, 'weather', ''), written(0, '{"city":"Os')],
        result: {
            text: 'So:',
            finish_reason: 'length',
            message: { role: 'assistant', content: 'So:', tool_calls: [toolCall(0, 'weather', '{"city":"Os')] },
        },
    },
    mumble: {
        events: [content('Well'), { type: 'invalid_tool_call', text: 'call:{', error: 'it has no name' }],
        result: { text: 'Well' },
    },
    cut: { events: [content('Once upon')], result: { text: 'Once upon', finish_reason: 'length', dropped_messages: 2 } },
    stopped: { events: [content('Once')], result: { text: 'Once', stopped_by: 1 } },
    nothing: { events: [] },
    scores: {
        events: [
            { type: 'content', text: 'Hi', logprobs: [score('Hi', -0.5)] },
            { type: 'content', text: '', logprobs: [score('', -1)] },
            { type: 'content', text: ' there', logprobs: [score(' th', -0.25), score('ere', -2)] },
        ],
        result: { text: 'Hi there' },
    },
    refused: { events: [], error: { after: 0, code: 'limit', sentence: 'the prompt has 200 tokens, the context 100' } },
    broken: { events: [content('Once'), content(' upon')], error: { after: 2, code: 'internal', sentence: 'the engine fell over' } },
};

const measured: GenerateResult = {
    text: '',
    finish_reason: 'stop',
    prompt_tokens: 12,
    cached_tokens: 5,
    completion_tokens: 4,
    prompt_ms: 20,
    completion_ms: 30,
    seed: 1,
};

/** Without messages the answer is text: the same scripts, told in the words of a continuation. */
function asText({ events, ...rest }: Script): Script {
    const texts = events.flatMap((event): GenerateEvent[] =>
        event.type === 'content' ? [{ ...event, type: 'text', tokens: [7] }] : [],
    );
    return { ...rest, events: texts };
}

export class ScriptedEngine {
    /** What the engine was asked, in its own words. */
    readonly asked: JsonObject[] = [];

    readonly load: Load = async (sources) => {
        const core = {
            info: {
                model: 'scripted',
                backend: 'cpu',
                why: '',
                worker: false,
                contextLength: 100,
                maxConversations: 1,
                weightBytes: 5,
                description: {},
            },
            generate: async (
                request: { messages?: JsonObject[]; prompt?: string; prompt_tokens?: number[] },
                context: { onEvent?: (event: GenerateEvent) => void },
            ) => await this.generate(request, context.onEvent),
            // How many tokens a conversation is, the engine tells in a session of its own.
            call: async (method: string) => ({
                json: method === 'session.create' ? { session: 1 } : { prompt_tokens: 12 },
                blob: new Uint8Array(),
            }),
            tokenize: async (text: string) => Int32Array.from(text, (_, i) => i),
            detokenize: async (tokens: ArrayLike<number>) => 'x'.repeat(tokens.length),
            embed: async ({ input }: { input: unknown[] }) => ({
                vectors: input.map(() => Float32Array.of(0.6, 0.8)),
                tokens: 3 * input.length,
                truncated: 0,
            }),
            score: async ({ tokens }: { tokens: number[] }) => tokens.slice(1).map(() => score('x', -1)),
            dispose: async () => {
                for (const source of sources as ByteSource[]) await source.close();
            },
        };
        return new LoadedEngine(core as never); // as much of one as the server uses
    };

    private async generate(
        request: { messages?: JsonObject[]; prompt?: string; prompt_tokens?: number[] },
        onEvent: ((event: GenerateEvent) => void) | undefined,
    ): Promise<GenerateResult> {
        this.asked.push(JSON.parse(JSON.stringify(request)) as JsonObject);
        const last = request.messages?.at(-1)?.['content'] ?? request.prompt ?? '';
        const word = /\w+\W*$/.exec(typeof last === 'string' ? last : JSON.stringify(last))?.[0].replace(/\W/g, '') ?? '';
        const known = scripts[word] ?? scripts['words'];
        const script = known && !request.messages ? asText(known) : known;
        for (const [i, event] of (script?.events ?? []).entries()) {
            if (script?.error?.after === i) break;
            onEvent?.(event);
            await Promise.resolve();
        }
        if (script?.error) throw new LapidaryError(script.error.code, script.error.sentence);
        const { message, ...result } = { ...measured, ...script?.result };
        if (!request.messages) return result;
        return { ...result, message: message ?? { role: 'assistant', content: result.text } };
    }
}
