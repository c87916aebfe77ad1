// A description of a model as a person reads it. It prints whatever the engine tells: a new field needs no change here.
import { isObject, type JsonObject, type JsonValue } from 'lapidary';
import { formatBytes, formatTable } from './terminal.js';

/** One line a field; nested objects are indented below their name, lists of objects become tables. */
export function describeObject(object: JsonObject, indent = ''): string[] {
    const simple: string[][] = [];
    const nested: string[] = [];
    for (const [key, value] of Object.entries(object)) {
        if (value === null) continue;
        const label = key.replaceAll('_', ' ');
        if (isObject(value)) {
            nested.push(`${indent}${label}`, ...describeObject(withUnit(key, value), `${indent}  `));
        } else if (isTable(value)) {
            nested.push(`${indent}${label}`, ...describeTable(value, `${indent}  `));
        } else {
            simple.push([indent + label, describeValue(key, value)]);
        }
    }
    return [...formatTable(simple), ...nested];
}

function isTable(value: JsonValue): value is JsonObject[] {
    return Array.isArray(value) && value.length > 0 && value.every(isObject);
}

function describeTable(rows: readonly JsonObject[], indent: string): string[] {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const header = columns.map((column) => column.replaceAll('_', ' '));
    const cells = rows.map((row) => columns.map((column) => describeValue(column, row[column] ?? null)));
    const right = columns.map((column) => rows.every((row) => typeof row[column] === 'number'));
    return formatTable([header, ...cells], right).map((line) => indent + line);
}

// Everything about memory is a number of bytes, though the names below it do not repeat that.
function withUnit(key: string, value: JsonObject): JsonObject {
    if (key !== 'memory') return value;
    const entries = Object.entries(value).map(([name, amount]): [string, JsonValue] => [
        name,
        typeof amount === 'number' ? formatBytes(amount) : amount,
    ]);
    return Object.fromEntries(entries);
}

function describeValue(key: string, value: JsonValue): string {
    if (typeof value === 'number') {
        if (/(^|_)bytes(_|$)/.test(key)) return `${formatBytes(value)} (${groupDigits(value)})`;
        return Number.isInteger(value) ? groupDigits(value) : String(Number(value.toPrecision(7)));
    }
    if (typeof value === 'boolean') return value ? 'yes' : 'no';
    if (typeof value === 'string') return value;
    if (value === null) return '';
    if (Array.isArray(value)) return value.map((item) => describeValue('', item)).join(', ');
    return JSON.stringify(value);
}

function groupDigits(value: number): string {
    return String(value).replace(/\B(?=(\d{3})+$)/g, ' ');
}
