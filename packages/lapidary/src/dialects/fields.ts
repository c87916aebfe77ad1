// Reading the members of a request. A wrong one is refused with its name: whoever wrote the request should not have to
// guess which of twenty members was meant.
import { LapidaryError } from '../error.js';
import { isObject } from '../json.js';

export function invalid(place: string, expected: string, found: unknown): LapidaryError {
    return wrong(place, `must be ${expected}, not ${inWords(found)}`);
}

/** `why` goes on behind the member's name. */
export function wrong(place: string, why: string): LapidaryError {
    return new LapidaryError('invalid_argument', `'${place}' ${why}`, place === whole ? {} : { details: { param: place } });
}

const whole = 'the request';

export class Fields {
    private readonly object: Record<string, unknown>;

    /** `place` is where the object stands in the request: empty for the request itself. */
    constructor(
        value: unknown,
        private readonly place: string = '',
    ) {
        if (!isObject(value)) throw invalid(place || whole, 'an object', value);
        this.object = value;
    }

    /** Null counts as left out, as OpenAI's clients mean it. */
    value(name: string): unknown {
        return this.object[name] ?? undefined;
    }

    at(name: string): string {
        return this.place === '' ? name : `${this.place}.${name}`;
    }

    number(name: string, least: number, most: number): number | undefined {
        const value = this.value(name);
        if (value === undefined) return undefined;
        if (typeof value !== 'number' || !(value >= least && value <= most)) {
            throw invalid(this.at(name), `a number from ${least} to ${most}`, value);
        }
        return value;
    }

    integer(name: string, least: number, most: number): number | undefined {
        const value = this.value(name);
        if (value === undefined) return undefined;
        if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
            const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
            throw invalid(this.at(name), `a whole number ${range}`, value);
        }
        return value;
    }

    boolean(name: string): boolean | undefined {
        const value = this.value(name);
        if (value === undefined || typeof value === 'boolean') return value;
        throw invalid(this.at(name), 'true or false', value);
    }

    string(name: string): string | undefined {
        const value = this.value(name);
        if (value === undefined || typeof value === 'string') return value;
        throw invalid(this.at(name), 'a text', value);
    }

    oneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
        const value = this.value(name);
        if (value === undefined) return undefined;
        const word = words.find((known) => known === value);
        if (word === undefined) throw invalid(this.at(name), `one of ${words.join(', ')}`, value);
        return word;
    }

    list(name: string): readonly unknown[] | undefined {
        const value = this.value(name);
        if (value === undefined || Array.isArray(value)) return value;
        throw invalid(this.at(name), 'a list', value);
    }

    fields(name: string): Fields | undefined {
        const value = this.value(name);
        return value === undefined ? undefined : new Fields(value, this.at(name));
    }
}

function inWords(value: unknown): string {
    if (value === undefined) return 'nothing';
    if (value === null) return 'null';
    if (Array.isArray(value)) return 'a list';
    if (typeof value === 'object') return 'an object';
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    if (typeof value !== 'string') return `a ${typeof value}`;
    return value.length <= 40 ? `'${value}'` : `'${value.slice(0, 40)}…'`;
}

/** The object without what is undefined: exact optional members allow no other way. */
export function defined<Value extends object>(object: Value): { [Key in keyof Value]: Exclude<Value[Key], undefined> } {
    return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
        [Key in keyof Value]: Exclude<Value[Key], undefined>;
    };
}
