// OpenAI's custom tools, whose calls carry a text where those of functions carry arguments. The library knows functions
// only: here such a tool is a function with one argument, which is that text.
import { isObject, type JsonObject, type JsonValue } from 'lapidary';
import { inputOf } from 'lapidary/dialects';
import { badRequest } from './errors.js';
import type { Part } from './several.js';

/** A chat request in which every tool is a function. */
export function withFunctions(body: JsonObject): JsonObject {
    const { tools, tool_choice: choice, messages } = body;
    return {
        ...body,
        ...(Array.isArray(tools) ? { tools: tools.map(asFunction) } : {}),
        ...(choice === undefined ? {} : { tool_choice: choiceOf(choice) }),
        ...(Array.isArray(messages) ? { messages: messages.map(withFunctionCalls) } : {}),
    };
}

/** The names of those that were none. */
export function customTools({ tools }: JsonObject): ReadonlySet<string> {
    const names = (Array.isArray(tools) ? tools : []).map((tool) => customOf(tool)?.['name']);
    return new Set(names.filter((name) => typeof name === 'string'));
}

/** An answer or a piece of one, with the calls of custom tools as their clients expect them. */
export function withCustomCalls<Answer extends Part>(answer: Answer, custom: ReadonlySet<string>): Answer {
    if (custom.size === 0) return answer;
    return { ...answer, choices: answer.choices.map((choice) => toldChoice(choice, custom)) };
}

/** Calls come in pieces; of custom ones the text is told when it is complete. */
export async function* streamWithCustomCalls<Chunk extends Part>(
    chunks: AsyncIterable<Chunk>,
    custom: ReadonlySet<string>,
): AsyncGenerator<Chunk> {
    if (custom.size === 0) return yield* chunks;
    let open: { chunk: Chunk; call: CallPiece } | undefined;
    function* close(): Generator<Chunk> {
        if (open) yield withCustomCalls(withCalls(open.chunk, [open.call]), custom);
        open = undefined;
    }
    for await (const chunk of chunks) {
        const pieces = callsOf(chunk);
        if (!pieces) {
            yield* close();
            yield chunk;
            continue;
        }
        for (const piece of pieces) {
            const { name, arguments: given = '' } = piece.function ?? {};
            if (name !== undefined) {
                yield* close();
                if (custom.has(name)) open = { chunk, call: { ...piece, function: { name, arguments: given } } };
                else yield withCalls(chunk, [piece]);
            } else if (open) {
                const { function: called } = open.call;
                open.call.function = { ...called, arguments: (called?.arguments ?? '') + given };
            } else yield withCalls(chunk, [piece]);
        }
    }
    yield* close();
}

interface CallPiece {
    function?: { name?: string; arguments?: string };
}

function callsOf(chunk: Part): CallPiece[] | undefined {
    const delta = (chunk.choices[0] as { delta?: { tool_calls?: CallPiece[] } } | undefined)?.delta;
    return delta?.tool_calls;
}

function withCalls<Chunk extends Part>(chunk: Chunk, tool_calls: CallPiece[]): Chunk {
    const choices = chunk.choices.map((choice) => {
        const { delta } = choice as { delta?: object };
        return delta ? { ...choice, delta: { ...delta, tool_calls } } : choice;
    });
    return { ...chunk, choices };
}

function customOf(value: JsonValue | undefined): JsonObject | undefined {
    if (!isObject(value) || value['type'] !== 'custom') return undefined;
    return isObject(value['custom']) ? value['custom'] : {};
}

/** What is wrong with it otherwise, the library says. */
function asFunction(tool: JsonValue, i: number): JsonValue {
    const custom = customOf(tool);
    if (!custom) return tool;
    const { name = null, description, format } = custom;
    const input = { type: 'string', ...patternOf(format, `tools[${i}].custom.format`) };
    const parameters = { type: 'object', properties: { input }, required: ['input'], additionalProperties: false };
    return { type: 'function', function: { name, parameters, ...(description === undefined ? {} : { description }) } };
}

function patternOf(format: JsonValue | undefined, place: string): { pattern?: string } {
    if (format === undefined || format === null || (isObject(format) && format['type'] === 'text')) return {};
    const grammar = isObject(format) ? format['grammar'] : undefined;
    const { syntax, definition } = isObject(grammar) ? grammar : {};
    if (syntax !== 'regex' || typeof definition !== 'string') {
        throw badRequest(`'${place}' must be text or a grammar whose syntax is regex: others are not supported`, place);
    }
    return { pattern: `^(?:${definition})$` };
}

function choiceOf(choice: JsonValue): JsonValue {
    const custom = customOf(choice);
    if (custom) return named(custom);
    const allowed = isObject(choice) ? choice['allowed_tools'] : undefined;
    if (!isObject(choice) || !isObject(allowed) || !Array.isArray(allowed['tools'])) return choice;
    const tools = allowed['tools'].map((tool) => {
        const one = customOf(tool);
        return one ? named(one) : tool;
    });
    return { ...choice, allowed_tools: { ...allowed, tools } };
}

function named({ name = null }: JsonObject): JsonObject {
    return { type: 'function', function: { name } };
}

/** Calls that the client sends back, with the rest of the conversation. */
function withFunctionCalls(message: JsonValue): JsonValue {
    if (!isObject(message) || !Array.isArray(message['tool_calls'])) return message;
    const calls = message['tool_calls'].map((call) => {
        const custom = customOf(call);
        if (!custom || !isObject(call)) return call;
        const { custom: _, ...rest } = call;
        const { name = null, input = '' } = custom;
        return { ...rest, type: 'function', function: { name, arguments: JSON.stringify({ input }) } };
    });
    return { ...message, tool_calls: calls };
}

/** In a stream the calls are in `delta`, in a whole answer in `message`. */
function toldChoice<Choice extends object>(choice: Choice, custom: ReadonlySet<string>): Choice {
    const told = { ...choice } as Choice & Record<string, unknown>;
    for (const place of ['delta', 'message']) {
        const said = told[place];
        if (!isCalling(said)) continue;
        Object.assign(told, { [place]: { ...said, tool_calls: said.tool_calls.map((call) => toldCall(call, custom)) } });
    }
    return told;
}

interface Call {
    function?: { name?: string; arguments?: string };
}

function isCalling(value: unknown): value is { tool_calls: Call[] } {
    return typeof value === 'object' && value !== null && 'tool_calls' in value && Array.isArray(value.tool_calls);
}

function toldCall(call: Call, custom: ReadonlySet<string>): object {
    const { function: called, ...rest } = call;
    if (called?.name === undefined || !custom.has(called.name)) return call;
    return { ...rest, type: 'custom', custom: { name: called.name, input: inputOf(called.arguments ?? '') } };
}
