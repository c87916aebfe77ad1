// A chat request, checked, and in the engine's own words.
import { LapidaryError } from '../error.js';
import { isObject, type JsonObject, type JsonValue } from '../json.js';
import type { ReasoningEffort } from '../openai.js';
import type { GenerateRequest } from '../session.js';
import { asContent } from '../media/parts.js';
import { Fields, defined, invalid, wrong } from './fields.js';
import { mediaPartOf } from './media.js';
import { readableArguments } from './tools.js';
import { commonOf, mostTopLogprobs, streamOptionsOf } from './sampling.js';

export interface CheckedRequest {
    generate: GenerateRequest;
    stream: boolean;
    includeUsage: boolean;
    /** How many likely tokens to tell at each place; undefined when none at all are asked for. */
    topLogprobs: number | undefined;
}

const roles = ['system', 'developer', 'user', 'assistant', 'tool'] as const;
export const efforts: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

export function checkChat(params: unknown): CheckedRequest {
    const fields = new Fields(params);
    const topLogprobs = topLogprobsOf(fields);
    const { tools, tool_choice } = toolsOf(fields);
    return {
        generate: {
            ...commonOf(fields),
            messages: messagesOf(fields),
            thinking: thinkingOf(fields),
            ...(tools.length > 0 ? { tools } : {}),
            ...defined({
                tool_choice,
                logprobs: topLogprobs,
                overflow: fields.oneOf('overflow', ['error', 'stop', 'slide']),
                continue_tokens: continuedOf(fields),
                report_tokens: fields.boolean('report_tokens'),
            }),
        },
        stream: fields.boolean('stream') ?? false,
        ...streamOptionsOf(fields),
        topLogprobs,
    };
}

/** Whether a list has the right kinds of things in it; what is in them, the engine checks with names of its own. */
function messagesOf(fields: Fields): JsonObject[] {
    const list = fields.list('messages');
    if (!list) throw invalid('messages', 'a list of messages', undefined);
    if (list.length === 0) throw wrong('messages', 'is empty: nothing is to be answered');
    return list.map((message, i) => {
        const place = `messages[${i}]`;
        const entry = new Fields(message, place);
        const role = entry.oneOf('role', roles);
        if (role === undefined) throw invalid(`${place}.role`, `one of ${roles.join(', ')}`, undefined);
        const content = contentOf(entry);
        for (const name of ['reasoning_content', 'tool_call_id', 'name']) entry.string(name);
        const calls = entry.list('tool_calls')?.map(readableCall);
        const checked = message as JsonObject; // Fields has seen that it is an object
        return { ...checked, ...(content ? { content } : {}), ...(calls ? { tool_calls: calls } : {}) };
    });
}

/** A call that was cut off comes back as it was told. */
function readableCall(call: unknown): JsonValue {
    const made = call as JsonValue; // what is wrong with it otherwise, the engine says
    if (!isObject(made) || !isObject(made['function'])) return made;
    const given = made['function']['arguments'];
    return typeof given === 'string' ? { ...made, function: { ...made['function'], arguments: readableArguments(given) } } : made;
}

/** The parts that the engine reads; undefined where there is no list of parts. */
function contentOf(message: Fields): JsonObject[] | undefined {
    const content = message.value('content');
    if (content === undefined || typeof content === 'string') return undefined;
    if (!Array.isArray(content)) throw invalid(message.at('content'), 'a text or a list of parts', content);
    return content.flatMap((part: unknown, i) => partOf(new Fields(part, `${message.at('content')}[${i}]`)));
}

export function partOf(part: Fields): JsonObject[] {
    const type = part.string('type');
    if (type === undefined) throw invalid(part.at('type'), 'the kind of the part', undefined);
    const member = textParts.get(type);
    if (member !== undefined) {
        const text = part.string(member);
        if (text === undefined) throw invalid(part.at(member), 'a text', undefined);
        return [{ type: 'text', text }];
    }
    if (thoughtParts.has(type)) return [];
    const media = mediaPartOf(part);
    if (media) return [asContent(media)];
    const why = mediaPart.test(type)
        ? `'${part.at('type')}' is '${type}', which is not known here: pictures are image_url, sounds are input_audio`
        : `'${part.at('type')}' is '${type}', which is not known here: send parts of type 'text'`;
    throw new LapidaryError('unsupported', why);
}

/** By type, where the text is: OpenAI's interfaces have several words for it. */
const textParts: ReadonlyMap<string, string> = new Map([
    ['text', 'text'],
    ['input_text', 'text'],
    ['output_text', 'text'],
    ['refusal', 'refusal'],
]);

/** A model's thoughts, sent back with its answer. They are for the answer they led to and are not read again. */
const thoughtParts: ReadonlySet<string> = new Set(['thinking', 'redacted_thinking', 'reasoning']);

const mediaPart = /image|audio|video|file|document/;

/** `tool_choice` only where it demands a call; the engine then sees to it that one is made. */
function toolsOf(fields: Fields): Pick<GenerateRequest, 'tool_choice'> & { tools: JsonObject[] } {
    const tools = (fields.list('tools') ?? []).map((tool, i) => {
        const place = `tools[${i}]`;
        const entry = new Fields(tool, place);
        if (entry.value('type') !== 'function') throw invalid(`${place}.type`, `'function'`, entry.value('type'));
        const described = entry.fields('function');
        if (!described) throw invalid(`${place}.function`, 'an object', undefined);
        if (!described.string('name')) throw invalid(described.at('name'), 'the name of the function', undefined);
        described.string('description');
        described.fields('parameters');
        return tool as JsonObject; // Fields has seen that it is an object
    });
    const choice = fields.value('tool_choice');
    if (choice === undefined || choice === 'auto') return { tools };
    if (choice === 'none') return { tools: [] };
    if (isObject(choice) && choice['type'] === 'allowed_tools') return allowedTools(new Fields(choice, 'tool_choice'), tools);
    const named = isObject(choice) ? new Fields(choice, 'tool_choice').fields('function')?.string('name') : undefined;
    if (choice !== 'required' && named === undefined) {
        throw invalid('tool_choice', 'none, auto, required or the name of a function', choice);
    }
    if (tools.length === 0) {
        throw wrong('tool_choice', 'asks for a call, but there are no tools');
    }
    if (named === undefined) return { tools, tool_choice: 'required' };
    return { tools, tool_choice: { type: 'function', function: { name: named } } };
}

/** Whether the model has such tokens, the engine says. */
function continuedOf(fields: Fields): number[] | undefined {
    return fields.list('continue_tokens')?.map((token, i) => {
        if (typeof token === 'number' && Number.isInteger(token) && token >= 0) return token;
        throw invalid(`continue_tokens[${i}]`, 'the number of a token', token);
    });
}

/** OpenAI's way to offer all tools, so that the prompt stays the same, and to allow some. */
function allowedTools(choice: Fields, tools: JsonObject[]): Pick<GenerateRequest, 'tool_choice'> & { tools: JsonObject[] } {
    const given = choice.fields('allowed_tools') ?? choice;
    const mode = given.oneOf('mode', ['auto', 'required']) ?? 'auto';
    const names = (given.list('tools') ?? []).map((tool, i) => {
        const entry = new Fields(tool, `${given.at('tools')}[${i}]`);
        const name = (entry.fields('function') ?? entry).string('name');
        if (name === undefined) throw invalid(entry.at('function.name'), 'the name of a function', undefined);
        return name;
    });
    const allowed = tools.filter((tool) => isObject(tool['function']) && names.includes(String(tool['function']['name'])));
    if (allowed.length === 0) {
        throw wrong('tool_choice', `allows no tool that is among 'tools'`);
    }
    return mode === 'required' ? { tools: allowed, tool_choice: 'required' } : { tools: allowed };
}

export function thinkingOf(fields: Fields): boolean {
    const effort = fields.oneOf('reasoning_effort', efforts);
    const thinking = fields.boolean('thinking');
    return thinking ?? (effort !== undefined && effort !== 'none' && effort !== 'minimal');
}

function topLogprobsOf(fields: Fields): number | undefined {
    const wanted = fields.boolean('logprobs') ?? false;
    const top = fields.integer('top_logprobs', 0, mostTopLogprobs);
    if (!wanted && top !== undefined && top > 0) {
        throw wrong('top_logprobs', `needs 'logprobs' to be true`);
    }
    return wanted ? (top ?? 0) : undefined;
}
