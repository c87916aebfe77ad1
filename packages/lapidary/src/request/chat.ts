// A chat request, checked, and in the engine's own words.
import { LapidaryError } from '../error.js';
import { isObject, type JsonObject } from '../json.js';
import type { ReasoningEffort } from '../openai.js';
import type { GenerateRequest } from '../session.js';
import { Fields, defined, invalid } from './fields.js';
import { commonOf, mostTopLogprobs, streamOptionsOf } from './sampling.js';

export interface CheckedRequest {
    generate: GenerateRequest;
    stream: boolean;
    includeUsage: boolean;
    /** How many likely tokens to tell at each place; undefined when none at all are asked for. */
    topLogprobs: number | undefined;
}

const roles = ['system', 'developer', 'user', 'assistant', 'tool'] as const;
const efforts: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];

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
    if (list.length === 0) throw new LapidaryError('invalid_argument', `'messages' is empty: nothing is to be answered`);
    return list.map((message, i) => {
        const place = `messages[${i}]`;
        const entry = new Fields(message, place);
        const role = entry.oneOf('role', roles);
        if (role === undefined) throw invalid(`${place}.role`, `one of ${roles.join(', ')}`, undefined);
        checkContent(entry);
        for (const name of ['reasoning_content', 'tool_call_id', 'name']) entry.string(name);
        entry.list('tool_calls');
        return message as JsonObject; // Fields has seen that it is an object
    });
}

function checkContent(message: Fields): void {
    const content = message.value('content');
    if (content === undefined || typeof content === 'string') return;
    if (!Array.isArray(content)) throw invalid(message.at('content'), 'a text or a list of parts', content);
    content.forEach((part: unknown, i) => {
        const place = `${message.at('content')}[${i}]`;
        const entry = new Fields(part, place);
        const type = entry.string('type');
        if (type === undefined) throw invalid(`${place}.type`, 'the kind of the part', undefined);
        if (type === 'text' && entry.string('text') === undefined) throw invalid(`${place}.text`, 'a text', undefined);
        if (type !== 'text') {
            throw new LapidaryError('unsupported', `'${place}' is of type '${type}', but this model reads text only`);
        }
    });
}

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
    const named = isObject(choice) ? new Fields(choice, 'tool_choice').fields('function')?.string('name') : undefined;
    if (choice !== 'required' && named === undefined) {
        throw invalid('tool_choice', 'none, auto, required or the name of a function', choice);
    }
    if (tools.length === 0) {
        throw new LapidaryError('invalid_argument', `'tool_choice' asks for a call, but there are no tools`);
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

function thinkingOf(fields: Fields): boolean {
    const effort = fields.oneOf('reasoning_effort', efforts);
    const thinking = fields.boolean('thinking');
    return thinking ?? (effort !== undefined && effort !== 'none' && effort !== 'minimal');
}

function topLogprobsOf(fields: Fields): number | undefined {
    const wanted = fields.boolean('logprobs') ?? false;
    const top = fields.integer('top_logprobs', 0, mostTopLogprobs);
    if (!wanted && top !== undefined && top > 0) {
        throw new LapidaryError('invalid_argument', `'top_logprobs' needs 'logprobs' to be true`);
    }
    return wanted ? (top ?? 0) : undefined;
}
