// A model that calls tools: its calls are run, it reads what came of them, and goes on until it calls nothing more.
import { messageOf, throwIfCancelled } from '../error.js';
import { isObject, type JsonObject } from '../json.js';
import type { GenerateRequest } from '../session.js';
import type { AnswerOptions } from './answer.js';
import type { Call, Ended } from './events.js';

export interface Tool {
    name: string;
    /** For the model. */
    description: string;
    /** A JSON schema of its arguments. */
    parameters: JsonObject;
    /** What the model is to read. An error is told it as such. */
    run(args: JsonObject, signal: AbortSignal): Promise<string>;
}

export interface ToolResult {
    /** Of the call. */
    id: string;
    text: string;
}

/** As requests name them. */
export function toolDefinition({ name, description, parameters }: Omit<Tool, 'run'>): JsonObject {
    return { type: 'function', function: { name, description, parameters } };
}

/** At once, and told in the order of the calls, whichever ends first. */
export async function runCalls(calls: readonly Call[], tools: readonly Tool[], signal: AbortSignal): Promise<ToolResult[]> {
    const results = await Promise.all(calls.map(async (call) => ({ id: call.id, text: await textOf(call, tools, signal) })));
    throwIfCancelled(signal);
    return results;
}

async function textOf({ name, arguments: text }: Call, tools: readonly Tool[], signal: AbortSignal): Promise<string> {
    const tool = tools.find((one) => one.name === name);
    if (!tool) return `Error: there is no tool '${name}'`;
    try {
        const args: unknown = JSON.parse(text === '' ? '{}' : text);
        if (!isObject(args)) return 'Error: the arguments are no JSON object';
        return await tool.run(args, signal);
    } catch (error) {
        return `Error: ${messageOf(error)}`;
    }
}

export interface LoopOptions extends AnswerOptions {
    /** Asked before the calls of an answer are run; without it all are. Who says no gets the answer with its calls. */
    allow?: ((calls: readonly Call[]) => Promise<boolean>) | undefined;
    onResult?: ((result: ToolResult) => void) | undefined;
    /** Answers that may call something; 8 unless told. */
    most?: number;
}

/** `ask`: such as `engine.generate`. Gives the last answer. */
export async function toolLoop(
    ask: (request: GenerateRequest, options: AnswerOptions) => Promise<Ended>,
    request: GenerateRequest,
    tools: readonly Tool[],
    { signal, onEvent, onResult, allow, most = 8 }: LoopOptions = {},
): Promise<Ended> {
    const all = [...(request.tools ?? []), ...tools.map(toolDefinition)];
    let asked: GenerateRequest = { ...request, tools: all };
    for (let round = 0; ; round++) {
        const answer = await ask(asked, { signal, onEvent });
        const { calls, content } = answer;
        if (calls.length === 0 || round === most || !((await allow?.(calls)) ?? true)) return answer;
        const results = await runCalls(calls, tools, signal ?? new AbortController().signal);
        for (const result of results) onResult?.(result);
        const called = calls.map(({ id, name, arguments: text }) => ({ id, type: 'function', function: { name, arguments: text } }));
        const told = results.map(({ id, text }) => ({ role: 'tool', tool_call_id: id, content: text }));
        const { tool_choice: _, ...rest } = asked; // a call that was demanded has been made
        asked = { ...rest, messages: [...(asked.messages ?? []), { role: 'assistant', content, tool_calls: called }, ...told] };
    }
}
