// OpenAI's responses: a request, checked, and in the engine's own words.
import { LapidaryError } from '../error.js';
import { isObject, type JsonObject, type JsonValue } from '../json.js';
import type { GenerateRequest } from '../session.js';
import { Fields, defined, invalid, wrong } from './fields.js';
import { efforts } from './openai-chat-request.js';
import { itemsOf, messagesOf, type FindItem } from './openai-responses-items.js';
import { adaptersOf, mostTopLogprobs, responseFormatOf, samplingOf, stopsOf } from './sampling.js';
import { ToolList } from './tools.js';

export interface ResponsesEcho {
    tools: ToolList;
    /** What the answer repeats of the request. */
    settings: JsonObject;
    /** Thoughts are told as a summary, which is what was asked for, or as what they are. */
    summary: boolean;
    /** Thoughts come in a form too that the client can send back. */
    encrypted: boolean;
    topLogprobs: number | undefined;
    /** For who remembers the conversation. */
    items: readonly JsonObject[];
    store: boolean;
    /** Members and tools that do nothing here. */
    ignored: string[];
}

export interface AskedResponse {
    request: GenerateRequest;
    stream: boolean;
    echo: ResponsesEcho;
}

/** What was said before, by the name of the answer; and a single item, by its own. */
export interface Memory {
    before(id: string): readonly JsonObject[];
    item: FindItem;
}

export function readResponses(body: unknown, memory: Memory): AskedResponse {
    const fields = new Fields(body);
    refuseUnknown(fields);
    const previous = fields.string('previous_response_id');
    const items = [...(previous === undefined ? [] : memory.before(previous)), ...itemsOf(fields, memory.item)];
    const tools = toolsOf(fields);
    const messages = messagesOf(items, tools);
    const instructions = fields.string('instructions');
    if (instructions) messages.unshift({ role: 'system', content: instructions });
    if (messages.length === 0) throw wrong('input', 'is empty: nothing is to be answered');
    const reasoning = fields.fields('reasoning');
    const effort = reasoning?.oneOf('effort', efforts);
    const summary = reasoning?.oneOf('summary', summaries) ?? reasoning?.oneOf('generate_summary', summaries);
    const { format, written } = formatOf(fields);
    const include = (fields.list('include') ?? []).map(String);
    const logprobs = include.includes('message.output_text.logprobs');
    const top = fields.integer('top_logprobs', 0, mostTopLogprobs);
    const truncation = fields.oneOf('truncation', ['auto', 'disabled']);
    const maxTokens = fields.integer('max_output_tokens', 1, 2 ** 26);
    const store = fields.boolean('store') ?? true;
    const adapters = adaptersOf(fields);
    const value = (name: string) => (fields.value(name) ?? null) as JsonObject[string];
    return {
        request: {
            messages,
            max_tokens: maxTokens ?? 0,
            sampling: samplingOf(fields),
            stop: stopsOf(fields),
            thinking: effort !== undefined && effort !== 'none' && effort !== 'minimal',
            ...choiceOf(fields, tools),
            ...(adapters.length > 0 ? { adapters } : {}),
            ...defined({
                response_format: format,
                logprobs: logprobs || top !== undefined ? (top ?? 0) : undefined,
                overflow: truncation === 'auto' ? ('slide' as const) : undefined,
            }),
        },
        stream: fields.boolean('stream') ?? false,
        echo: {
            tools,
            summary: summary !== undefined,
            encrypted: include.includes('reasoning.encrypted_content'),
            topLogprobs: logprobs || top !== undefined ? (top ?? 0) : undefined,
            items,
            store,
            ignored: [...Object.keys(body as object).filter((name) => !known.has(name)), ...tools.leftOut],
            settings: {
                instructions: instructions ?? null,
                max_output_tokens: maxTokens ?? null,
                max_tool_calls: value('max_tool_calls'),
                metadata: value('metadata') ?? {},
                parallel_tool_calls: fields.boolean('parallel_tool_calls') ?? true,
                previous_response_id: previous ?? null,
                prompt_cache_key: value('prompt_cache_key'),
                reasoning: { effort: effort ?? null, summary: summary ?? null },
                safety_identifier: value('safety_identifier'),
                service_tier: 'default',
                store,
                temperature: fields.value('temperature') === undefined ? 1 : value('temperature'),
                text: { format: written, verbosity: fields.fields('text')?.string('verbosity') ?? 'medium' },
                tool_choice: value('tool_choice') ?? 'auto',
                tools: value('tools') ?? [],
                top_logprobs: top ?? 0,
                top_p: fields.value('top_p') === undefined ? 1 : value('top_p'),
                truncation: truncation ?? 'disabled',
                user: value('user'),
            },
        },
    };
}

const summaries = ['auto', 'concise', 'detailed'] as const;

/** Followed, repeated, or about who asks and how it is accounted for. */
const known = new Set([
    ...['adapters', 'background', 'client_metadata', 'conversation', 'include', 'input', 'instructions', 'max_output_tokens'],
    ...['max_tool_calls', 'metadata', 'min_p', 'model', 'parallel_tool_calls', 'previous_response_id', 'prompt', 'prompt_cache_key'],
    ...['prompt_cache_retention', 'reasoning', 'repeat_penalty', 'frequency_penalty', 'presence_penalty', 'logit_bias'],
    ...['safety_identifier', 'seed', 'service_tier', 'stop', 'store', 'stream', 'stream_options', 'temperature', 'text'],
    ...['tool_choice', 'tools', 'top_k', 'top_logprobs', 'top_p', 'truncation', 'user'],
]);

function refuseUnknown(fields: Fields): void {
    const why: Record<string, string> = {
        background: `answers are written while their client waits: leave it out, and use 'stream'`,
        conversation: `conversations are kept by 'previous_response_id'`,
        prompt: 'there are no stored prompts: send the text itself',
    };
    for (const [name, sentence] of Object.entries(why)) {
        const value = fields.value(name);
        if (value !== undefined && value !== false) throw new LapidaryError('unsupported', `'${name}' is not supported: ${sentence}`);
    }
}

/** For the engine, and as the answer repeats it. */
function formatOf(fields: Fields): { format: JsonObject | undefined; written: JsonObject } {
    const format = fields.fields('text')?.fields('format');
    if (!format) return { format: undefined, written: { type: 'text' } };
    const member = (name: string) => (format.value(name) ?? null) as JsonValue;
    const type = member('type');
    const inner = { type, json_schema: { name: member('name'), schema: member('schema'), strict: member('strict') } };
    const read = responseFormatOf(new Fields({ response_format: inner }, 'text'));
    const named = { name: member('name') ?? 'answer', description: member('description'), strict: member('strict') ?? true };
    const written = type === 'json_schema' ? { type, ...named, schema: member('schema') } : { type };
    return { format: read, written };
}

/** Tools that the client runs. Those that OpenAI runs itself are left out, as where a model does not have them. */
function toolsOf(fields: Fields): ToolList {
    const list = new ToolList();
    const tools = (fields.list('tools') ?? []).map((tool, i) => new Fields(tool, `tools[${i}]`));
    const spaces = tools.filter((tool) => tool.value('type') === 'namespace');
    // Tools without a namespace have their names first: those in one can be told by a longer name.
    for (const tool of [...tools.filter((one) => !spaces.includes(one)), ...spaces]) addTool(list, tool, undefined);
    return list;
}

function addTool(list: ToolList, tool: Fields, namespace: string | undefined): void {
    const type = tool.string('type');
    if (type === undefined) throw invalid(tool.at('type'), 'the kind of the tool', undefined);
    if (type === 'namespace') {
        const inner = nameOf(tool);
        (tool.list('tools') ?? []).forEach((one, i) => addTool(list, new Fields(one, `${tool.at('tools')}[${i}]`), inner));
        return;
    }
    if (type !== 'function' && type !== 'custom') {
        list.leftOut.push(type);
        return;
    }
    const name = { name: nameOf(tool), ...(namespace === undefined ? {} : { namespace }) };
    const description = tool.string('description');
    if (type === 'function') {
        tool.fields('parameters');
        const parameters = tool.value('parameters') as JsonObject | undefined;
        list.add(name, description, parameters ?? { type: 'object', properties: {} });
        return;
    }
    const { pattern, grammar } = patternOf(tool);
    const told = grammar === undefined ? description : `${description ?? ''}\nThe input follows this grammar:\n${grammar}`;
    list.addCustom(name, told, pattern);
}

function nameOf(tool: Fields): string {
    const name = tool.string('name');
    if (!name) throw invalid(tool.at('name'), 'the name of the tool', undefined);
    return name;
}

/** A regular expression is followed where a call is demanded; of other grammars the model is told. */
function patternOf(tool: Fields): { pattern?: string; grammar?: string } {
    const format = tool.fields('format');
    if (format?.oneOf('type', ['text', 'grammar']) !== 'grammar') return {};
    const definition = format.string('definition') ?? '';
    return format.oneOf('syntax', ['lark', 'regex']) === 'regex' ? { pattern: `^(?:${definition})$` } : { grammar: definition };
}

function choiceOf(fields: Fields, tools: ToolList): Pick<GenerateRequest, 'tools' | 'tool_choice'> {
    const choice = fields.value('tool_choice');
    if (choice === undefined || choice === 'auto') return tools.choose(undefined, false);
    if (choice === 'none') return {};
    if (choice === 'required') return tools.choose(undefined, true);
    if (!isObject(choice)) throw invalid('tool_choice', 'none, auto, required or the name of a tool', choice);
    const given = new Fields(choice, 'tool_choice');
    const nameIn = (one: Fields) => {
        const namespace = one.string('namespace');
        return tools.nameOf({ name: nameOf(one), ...(namespace === undefined ? {} : { namespace }) });
    };
    if (choice['type'] !== 'allowed_tools') return tools.choose([nameIn(given)], true);
    const names = (given.list('tools') ?? []).flatMap((tool, i) => {
        const one = new Fields(tool, `tool_choice.tools[${i}]`);
        return ['function', 'custom'].includes(one.string('type') ?? '') ? [nameIn(one)] : [];
    });
    return tools.choose(names, given.oneOf('mode', ['auto', 'required']) === 'required');
}
