// Anthropic's messages: a request, checked, and in the engine's own words.
import { isObject, type JsonObject, type JsonValue } from '../json.js';
import type { GenerateRequest } from '../session.js';
import { Fields, defined, invalid, wrong } from './fields.js';
import { partOf } from './openai-chat-request.js';
import { adaptersOf, responseFormatOf, samplingOf } from './sampling.js';
import { ToolList } from './tools.js';
import { Turns } from './turns.js';

export interface MessagesEcho {
    stops: readonly string[];
    /** Members and tools that do nothing here. */
    ignored: string[];
}

export interface AskedMessage {
    request: GenerateRequest;
    stream: boolean;
    echo: MessagesEcho;
}

export function readMessages(body: unknown): AskedMessage {
    const fields = new Fields(body);
    const tools = toolsOf(fields);
    const stops = (fields.list('stop_sequences') ?? []).map((stop, i) => {
        if (typeof stop === 'string') return stop;
        throw invalid(`stop_sequences[${i}]`, 'a text', stop);
    });
    const thinking = fields.fields('thinking')?.oneOf('type', ['enabled', 'adaptive', 'disabled']);
    const format = formatOf(fields);
    const adapters = adaptersOf(fields);
    return {
        request: {
            messages: conversationOf(fields),
            max_tokens: fields.integer('max_tokens', 1, 2 ** 26) ?? 0,
            sampling: samplingOf(fields),
            stop: stops.filter((stop) => stop !== ''),
            thinking: thinking !== undefined && thinking !== 'disabled',
            ...choiceOf(fields, tools),
            ...(adapters.length > 0 ? { adapters } : {}),
            ...defined({ response_format: format }),
        },
        stream: fields.boolean('stream') ?? false,
        echo: {
            stops: stops.filter((stop) => stop !== ''),
            ignored: [...Object.keys(body as object).filter((name) => !known.has(name)), ...tools.leftOut],
        },
    };
}

/** Followed, or about who asks, what is cached and how it is accounted for. */
const known = new Set([
    ...['adapters', 'betas', 'cache_control', 'context_management', 'inference_geo', 'max_tokens', 'messages', 'metadata', 'min_p'],
    ...['model', 'output_config', 'output_format', 'repeat_penalty', 'frequency_penalty', 'presence_penalty', 'logit_bias', 'seed'],
    ...['service_tier', 'speed', 'stop_sequences', 'stream', 'system', 'temperature', 'thinking', 'tool_choice', 'tools', 'top_k', 'top_p'],
]);

function conversationOf(fields: Fields): JsonObject[] {
    const list = fields.list('messages');
    if (!list) throw invalid('messages', 'a list of messages', undefined);
    if (list.length === 0) throw wrong('messages', 'is empty: nothing is to be answered');
    const turns = new Turns();
    const system = blocksOf(fields, 'system').map((block) => textOf(block, 'text'));
    if (system.length > 0) turns.say('system', system.join('\n\n'));
    list.forEach((message, i) => addMessage(turns, new Fields(message, `messages[${i}]`)));
    return turns.messages;
}

function addMessage(turns: Turns, message: Fields): void {
    const role = message.oneOf('role', ['user', 'assistant', 'system']);
    if (role === undefined) throw invalid(message.at('role'), 'user or assistant', undefined);
    /** What the person says, together: results of tools come before. */
    const said: JsonObject[] = [];
    for (const block of blocksOf(message, 'content')) {
        const type = block.string('type');
        switch (type) {
            case 'thinking':
                turns.think(textOf(block, 'thinking'));
                break;
            case 'tool_use': {
                const input = block.value('input') ?? {};
                turns.call(textOf(block, 'id'), textOf(block, 'name'), JSON.stringify(input));
                break;
            }
            case 'tool_result': {
                const failed = block.boolean('is_error') === true;
                turns.result(textOf(block, 'tool_use_id'), resultOf(block, failed));
                break;
            }
            default:
                if (skipped.test(type ?? '')) break;
                if (role === 'assistant') turns.say(role, textOf(block, 'text'));
                else said.push(...documentOf(block));
        }
    }
    if (said.length > 0) turns.say(role, joined(said));
}

/** What tools of Anthropic's own did, and thoughts that only it can read; the words that came of it are in the texts. */
const skipped = /^(?:redacted_thinking|server_tool_use|mcp_tool_\w+|\w+_tool_result|container_upload|compaction)$/;

function joined(parts: JsonObject[]): string | JsonObject[] {
    return parts.every(({ type }) => type === 'text') ? parts.map(({ text }) => String(text)).join('\n') : parts;
}

function resultOf(block: Fields, failed: boolean): string | JsonObject[] {
    const content = joined(blocksOf(block, 'content').flatMap(documentOf));
    return failed && typeof content === 'string' ? `Error: ${content}` : content;
}

/** A document that is text is read as such. */
function documentOf(block: Fields): JsonObject[] {
    const type = block.string('type');
    const source = type === 'document' ? block.fields('source') : undefined;
    if (source?.string('type') === 'text') {
        const title = block.string('title');
        return [{ type: 'text', text: `${title === undefined ? '' : `${title}\n`}${textOf(source, 'data')}` }];
    }
    if (type === 'search_result') {
        const [title, from] = [block.string('title') ?? '', block.string('source') ?? ''];
        return [{ type: 'text', text: `${title}\n${from}` }, ...blocksOf(block, 'content').flatMap(documentOf)];
    }
    return partOf(block);
}

function blocksOf(holder: Fields, name: string): Fields[] {
    const content = holder.value(name);
    if (content === undefined || content === '') return [];
    if (typeof content === 'string') return [new Fields({ type: 'text', text: content }, holder.at(name))];
    if (!Array.isArray(content)) throw invalid(holder.at(name), 'a text or a list of blocks', content);
    return content.map((block: unknown, i) => new Fields(block, `${holder.at(name)}[${i}]`));
}

function textOf(block: Fields, name: string): string {
    const text = block.string(name);
    if (text === undefined) throw invalid(block.at(name), 'a text', undefined);
    return text;
}

/** Tools that the client runs. Anthropic's own are left out, as where a model does not have them. */
function toolsOf(fields: Fields): ToolList {
    const list = new ToolList();
    for (const [i, given] of (fields.list('tools') ?? []).entries()) {
        const tool = new Fields(given, `tools[${i}]`);
        const type = tool.string('type');
        const name = tool.string('name');
        if (!name) throw invalid(tool.at('name'), 'the name of the tool', undefined);
        const schema = tool.fields('input_schema');
        if (schema) list.add({ name }, tool.string('description'), tool.value('input_schema') as JsonObject);
        else if (type !== undefined && type !== 'custom') list.leftOut.push(type);
        else throw invalid(tool.at('input_schema'), 'a JSON schema', undefined);
    }
    return list;
}

function choiceOf(fields: Fields, tools: ToolList): Pick<GenerateRequest, 'tools' | 'tool_choice'> {
    const choice = fields.fields('tool_choice');
    const type = choice?.oneOf('type', ['auto', 'any', 'tool', 'none']) ?? 'auto';
    if (type === 'none') return {};
    if (type === 'tool') return tools.choose([choice?.string('name') ?? ''], true);
    return tools.choose(undefined, type === 'any');
}

/** The schema of the answer, in the place where it is now or where it was first. */
function formatOf(fields: Fields): JsonObject | undefined {
    const format = fields.fields('output_config')?.value('format') ?? fields.value('output_format');
    if (!isObject(format)) return undefined;
    const { type = null, schema = null } = format as Record<string, JsonValue>;
    return responseFormatOf(new Fields({ response_format: { type, json_schema: { schema } } }, 'output_config'));
}
