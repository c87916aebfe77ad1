// The draft of a canvas on a terminal: below what is settled, redrawn at every step, gone when its text is.
import type { GenerateEvent } from 'lapidary';
import { colours, safeFor, type Stream } from '../terminal.js';

export type Draft = Extract<GenerateEvent, { type: 'draft' }>;

export class DraftView {
    private readonly terminal: boolean;
    private column = 0;
    private lines = 0;

    constructor(private readonly stream: Stream & { rows?: number } = process.stdout) {
        this.terminal = stream.isTTY === true;
    }

    /** Whether drafts are worth asking for. */
    get wanted(): boolean {
        return this.terminal;
    }

    /** Everything that stays goes through here, so that the cursor is known to be at its end. */
    write(text: string): void {
        this.clear();
        this.stream.write(text);
        if (!this.terminal) return;
        const seen = text.replace(/\u001b\[[0-9;]*m/g, '');
        const last = seen.lastIndexOf('\n');
        const width = last < 0 ? this.column + seen.length : seen.length - last - 1;
        this.column = width % this.columns;
    }

    show({ text, firm, settled, tokens, step, steps }: Draft): void {
        if (!this.terminal) return;
        this.clear();
        const { dim } = colours(this.stream);
        const most = Math.max(1, (this.stream.rows || 24) - 3);
        const rows = rowsOf(text, firm, this.columns - 1).slice(0, most);
        const head = dim(`settling, step ${step} of ${steps}, ${settled} of ${tokens} tokens firm`.slice(0, this.columns - 1));
        const drawn = rows.map((row) => row.map((run) => (run.firm ? run.text : dim(run.text))).join(''));
        this.stream.write(`\n${[head, ...drawn].join('\n')}`);
        this.lines = rows.length + 1;
    }

    clear(): void {
        if (this.lines === 0) return;
        const right = this.column > 0 ? `\u001b[${this.column}C` : '';
        this.stream.write(`\r\u001b[${this.lines}A${right}\u001b[J`);
        this.lines = 0;
    }

    private get columns(): number {
        return this.stream.columns || 80;
    }
}

interface Run {
    text: string;
    firm: boolean;
}

/** The draft's lines, none longer than `width`, in runs that are firm or not. */
export function rowsOf(text: string, firm: readonly number[], width: number): Run[][] {
    const rows: Run[][] = [[]];
    let used = 0;
    let at = 0;
    for (const char of text) {
        const isFirm = firm.some((start, i) => i % 2 === 0 && at >= start && at < (firm[i + 1] ?? start));
        at += char.length;
        if (char === '\n' || used === width) {
            rows.push([]);
            used = 0;
            if (char === '\n') continue;
        }
        const row = rows[rows.length - 1] ?? [];
        const last = row[row.length - 1];
        const shown = safeFor({ isTTY: true, write: () => undefined }, char);
        if (last && last.firm === isFirm) last.text += shown;
        else row.push({ text: shown, firm: isFirm });
        used++;
    }
    return rows;
}
