// Requests in the words of OpenAI's interface and of the servers that copied it, in those of the library. The library
// checks every member, because callers in JavaScript need that too; here is what it does not know.
import { isObject, type JsonObject, type JsonValue } from 'lapidary';
import { withFunctions } from './custom-tools.js';
import { badRequest } from './errors.js';

export interface OpenAiRequest {
    /** For the library. */
    params: JsonObject;
    /** How many answers to each prompt. */
    n: number;
    /** To all prompts together. */
    answers: number;
    /** Members that do nothing here. */
    ignored: string[];
}

/** About who asks and how it is accounted for: not following them changes nothing that anybody could notice. */
const silent = new Set([
    'cache_prompt',
    'client_metadata',
    'metadata',
    'prompt_cache_key',
    'prompt_cache_retention',
    'safety_identifier',
    'service_tier',
    'store',
    'user',
]);

const common = [
    'adapters',
    'add_bos',
    'best_of',
    'frequency_penalty',
    'logit_bias',
    'logprobs',
    'max_tokens',
    'min_p',
    'model',
    'n',
    'parse_special',
    'presence_penalty',
    'repeat_penalty',
    'response_format',
    'seed',
    'stop',
    'stream',
    'stream_options',
    'temperature',
    'top_k',
    'top_logprobs',
    'top_p',
];
const chatMembers = new Set([
    ...common,
    'continue_tokens',
    'max_completion_tokens',
    'messages',
    'overflow',
    'reasoning_effort',
    'report_tokens',
    'thinking',
    'tool_choice',
    'tools',
]);
const completionMembers = new Set([...common, 'echo', 'prompt', 'suffix']);
const embeddingMembers = new Set(['dimensions', 'encoding_format', 'input', 'max_input_tokens', 'model', 'truncate']);

/** One turn writes so many answers at most: others wait meanwhile. */
const mostAnswers = 16;

export function readChat(body: JsonObject): OpenAiRequest {
    if (!Array.isArray(body['messages'])) throw badRequest("'messages' must be a list of messages", 'messages');
    const { n, ...params } = withFunctions(withFormat(body));
    const count = countOf(n);
    return { params, n: count, answers: count, ignored: ignoredOf(params, chatMembers) };
}

export function readCompletion(body: JsonObject): OpenAiRequest & { prompts: JsonValue[] } {
    const { n, prompt = null, ...params } = withFormat(body);
    const prompts = promptsOf(prompt);
    const count = countOf(n);
    const answers = prompts.length * count;
    if (answers > mostPrompts) {
        throw badRequest(`${answers} answers are asked for; at most ${mostPrompts} are written`, 'prompt');
    }
    return { params, prompts, n: count, answers, ignored: ignoredOf(params, completionMembers) };
}

export function readEmbedding(body: JsonObject): OpenAiRequest {
    return { params: body, n: 1, answers: 1, ignored: ignoredOf(body, embeddingMembers) };
}

const mostPrompts = 128;

/** Each as the library takes one: a text or a list of tokens. What is neither, the library refuses. */
function promptsOf(prompt: JsonValue): JsonValue[] {
    if (!Array.isArray(prompt) || typeof prompt[0] === 'number') return [prompt];
    if (prompt.length === 0) throw badRequest("'prompt' is an empty list", 'prompt');
    return prompt;
}

function countOf(n: JsonValue | undefined): number {
    if (n === undefined || n === null) return 1;
    if (typeof n === 'number' && Number.isInteger(n) && n >= 1 && n <= mostAnswers) return n;
    throw badRequest(`'n' must be a whole number from 1 to ${mostAnswers}`, 'n');
}

/** The answers to one request differ, and the first is the one that would have come alone. */
export function withSeed(params: JsonObject, index: number): JsonObject {
    const { seed } = params;
    if (index === 0 || typeof seed !== 'number' || seed === -1) return params;
    return { ...params, seed: (seed % 2 ** 51) + index };
}

function ignoredOf(params: JsonObject, known: ReadonlySet<string>): string[] {
    return Object.entries(params).flatMap(([name, value]) =>
        value === null || known.has(name) || silent.has(name) ? [] : [name],
    );
}

/** Constraints that are no JSON schema. To leave them out silently would give answers that their readers cannot read. */
const impossible = ['grammar', 'guided_grammar', 'guided_regex', 'guided_choice', 'regex', 'ebnf'];

/** llama.cpp's, vLLM's and others' ways to ask for JSON, as `response_format`. */
export function withFormat(body: JsonObject): JsonObject {
    const { json_schema, guided_json, structured_outputs, ...rest } = body;
    for (const name of impossible) refuse(rest, name, name);
    const formats: [string, JsonObject][] = [];
    const add = (name: string, schema: JsonValue | undefined) => {
        if (isAsked(schema)) formats.push([name, { type: 'json_schema', schema: schemaOf(schema, name) }]);
    };
    const own = body['response_format'];
    if (isObject(own) && own['type'] !== 'text') formats.push(['response_format', own]);
    add('json_schema', json_schema);
    add('guided_json', guided_json);
    if (isAsked(structured_outputs)) {
        const place = 'structured_outputs';
        if (!isObject(structured_outputs)) throw badRequest(`'${place}' must be an object`, place);
        for (const name of ['regex', 'choice', 'grammar', 'structural_tag']) {
            refuse(structured_outputs, name, `${place}.${name}`);
        }
        add(`${place}.json`, structured_outputs['json']);
        if (structured_outputs['json_object'] === true) formats.push([`${place}.json_object`, { type: 'json_object' }]);
    }
    const [first, second] = formats;
    if (first && second) {
        throw badRequest(`'${first[0]}' and '${second[0]}' both say what the answer must look like: send one`, second[0]);
    }
    return first ? { ...rest, response_format: first[1] } : rest;
}

/** Forms send empty fields too. */
function isAsked(value: JsonValue | undefined): boolean {
    return value !== undefined && value !== null && value !== '';
}

function refuse(object: JsonObject, member: string, place: string): void {
    const value = object[member];
    if (!isAsked(value) || (Array.isArray(value) && value.length === 0)) return;
    throw badRequest(`'${place}' is not supported: an answer can be made to follow a JSON schema, in 'response_format'`, place);
}

/** vLLM's clients send the schema as text too. */
function schemaOf(value: JsonValue | undefined, place: string): JsonObject {
    let schema: unknown = value;
    if (typeof value === 'string') {
        try {
            schema = JSON.parse(value);
        } catch {
            schema = undefined;
        }
    }
    if (!isObject(schema)) throw badRequest(`'${place}' must be a JSON schema`, place);
    return schema;
}
