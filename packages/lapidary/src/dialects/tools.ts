// Tools of other interfaces, as the functions the engine knows, and the way back from a call to what its client knows.
import { isObject, type JsonObject } from '../json.js';
import type { GenerateRequest } from '../session.js';
import { wrong } from './fields.js';

/** What a client called a tool that the model knows by another name or in another form. */
export interface ToolName {
    name: string;
    namespace?: string;
    /** Its calls carry a text, where those of functions carry arguments. */
    custom?: boolean;
}

/** For the engine, with what its names mean. */
export class ToolList {
    readonly functions: JsonObject[] = [];
    /** Kinds of tools that are not here. The model is not told of them. */
    readonly leftOut: string[] = [];
    private readonly meanings = new Map<string, ToolName>();

    add(tool: ToolName, description: string | undefined, parameters: JsonObject): void {
        const name = this.freeName(tool);
        this.meanings.set(name, tool);
        this.functions.push({ type: 'function', function: { name, ...(description ? { description } : {}), parameters } });
    }

    /** A tool whose calls carry a text is a function with one argument, which is that text. */
    addCustom(tool: ToolName, description: string | undefined, pattern: string | undefined): void {
        const input = { type: 'string', ...(pattern === undefined ? {} : { pattern }) };
        const parameters = { type: 'object', properties: { input }, required: ['input'], additionalProperties: false };
        this.add({ ...tool, custom: true }, description, parameters);
    }

    /** What a call of the model means to the client. */
    meaning(name: string): ToolName {
        return this.meanings.get(name) ?? { name };
    }

    /** What the model calls a tool of the client's. */
    nameOf({ name, namespace }: ToolName): string {
        const found = [...this.meanings].find(([, known]) => known.name === name && known.namespace === namespace);
        return found?.[0] ?? (namespace === undefined ? name : `${namespace}__${name}`);
    }

    /** A namespace is told only where a name stands for two things. */
    private freeName({ name, namespace }: ToolName): string {
        if (!this.meanings.has(name)) return name;
        const longer = namespace === undefined ? name : `${namespace}__${name}`;
        if (!this.meanings.has(longer)) return longer;
        throw wrong('tools', `has two tools of the name '${longer}'`);
    }

    /** `names`: the only ones that may be called; `demanded`: one of them must be. */
    choose(names: readonly string[] | undefined, demanded: boolean): Pick<GenerateRequest, 'tools' | 'tool_choice'> {
        const tools = names ? this.functions.filter((tool) => names.includes(functionName(tool))) : this.functions;
        if (tools.length === 0) {
            if (!demanded && !names) return {};
            const why = names ? `names no tool that is among 'tools'` : 'asks for a call, but there are no tools';
            throw wrong('tool_choice', why);
        }
        return { tools, ...(demanded ? { tool_choice: 'required' } : {}) };
    }
}

function functionName(tool: JsonObject): string {
    return isObject(tool['function']) ? String(tool['function']['name']) : '';
}

/** The text that a call of a custom tool carries. */
export function inputOf(text: string): string {
    try {
        const value: unknown = JSON.parse(text);
        if (isObject(value) && typeof value['input'] === 'string') return value['input'];
    } catch {
        // A model that was free to write something else did; its client may know what to do with it.
    }
    return text;
}

/** Arguments that are no JSON object (a call that was cut off) would make the whole conversation unreadable. */
export function readableArguments(text: string): string {
    try {
        return isObject(JSON.parse(text)) ? text : JSON.stringify({ unreadable: text });
    } catch {
        return text.trim() === '' ? '{}' : JSON.stringify({ unreadable: text });
    }
}
