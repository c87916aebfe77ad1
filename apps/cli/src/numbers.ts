// Numbers on the command line: what is not one, or not a sensible one, is wrong usage.
import { InvalidArgumentError } from 'commander';
import { LapidaryError, messageOf } from 'lapidary';

export interface Bounds {
    min: number;
    max: number;
}

export function parseNumber({ min, max }: Bounds): (text: string) => number {
    return (text) => {
        // Number('') is 0 and Number('0x10') is 16: neither is what a person meant.
        const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
        if (!(value >= min && value <= max)) throw new InvalidArgumentError(`It must be a number ${span(min, max)}.`);
        return value;
    };
}

export function parseInteger({ min, max }: Bounds): (text: string) => number {
    return (text) => {
        const value = /^[+-]?\d+$/.test(text) ? Number(text) : NaN;
        if (!(value >= min && value <= max)) {
            throw new InvalidArgumentError(`It must be a whole number ${span(min, max)}.`);
        }
        return value;
    };
}

function span(min: number, max: number): string {
    if (max === Infinity || max === Number.MAX_SAFE_INTEGER) return `of at least ${min}`;
    return `from ${min} to ${max}`;
}

const largestToken = 2 ** 31 - 1;

/** Token ids as people and programs write them: separated by commas or spaces, perhaps as a JSON list. */
export function parseTokens(text: string): number[] {
    const words = text.replace(/^\s*\[|\]\s*$/g, '').split(/[\s,]+/).filter((word) => word !== '');
    return words.map((word) => {
        const value = /^\d+$/.test(word) ? Number(word) : NaN;
        if (!(value <= largestToken)) {
            throw new LapidaryError('invalid_argument', `'${word.slice(0, 40)}' is not a token id`);
        }
        return value;
    });
}

/** The same for an option, where commander wants to hear of it in its own way. */
export function parseTokensOption(text: string): number[] {
    try {
        return parseTokens(text);
    } catch (error) {
        throw new InvalidArgumentError(`${messageOf(error)}.`);
    }
}
