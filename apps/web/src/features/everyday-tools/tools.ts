import type { Tool } from '../../shell/feature.js';
import { calculate } from './calculate.js';

export const tools: readonly Tool[] = [
    {
        name: 'calculate',
        title: 'Calculator',
        description: 'Computes an arithmetic expression exactly as written, such as (17 + 4) * 2 ^ 10 / sqrt(2).',
        parameters: {
            type: 'object',
            properties: { expression: { type: 'string', description: 'Numbers, + - * / % ^, parentheses, pi, e, sqrt, abs, ln, log, exp, sin, cos, tan, round, floor, ceil, min, max' } },
            required: ['expression'],
        },
        run: async ({ expression }) => {
            if (typeof expression !== 'string') throw new Error("'expression' must be a text");
            return String(calculate(expression));
        },
    },
    {
        name: 'current_time',
        title: 'Date and time',
        description: 'Tells the date, the day of the week, the time and the time zone of the person.',
        parameters: { type: 'object', properties: {} },
        run: async () => {
            const now = new Date();
            const words = now.toLocaleString('en', { dateStyle: 'full', timeStyle: 'long' });
            return `${words} (${Intl.DateTimeFormat().resolvedOptions().timeZone}, ${now.toISOString()})`;
        },
    },
];
