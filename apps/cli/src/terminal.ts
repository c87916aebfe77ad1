// What a person sees on a terminal, and a pipe must not: progress, colours, and protection from control characters.
import type { Progress } from 'lapidary';

export interface Stream {
    readonly isTTY?: boolean;
    readonly columns?: number;
    write(text: string): unknown;
}

export function colours(stream: Stream, env: Record<string, string | undefined> = process.env) {
    // NO_COLOR counts when it is set to anything (https://no-color.org).
    const on = stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
    const paint = (code: number) => (text: string) => (on ? `\u001b[${code}m${text}\u001b[0m` : text);
    return { bold: paint(1), dim: paint(2), red: paint(31), cyan: paint(36) };
}

/**
 * Text from a model or a file could carry sequences that retitle windows or rewrite what was shown. On a terminal only
 * line breaks and tabs pass; into a pipe goes every byte as it is.
 */
export function safeFor(stream: Stream, text: string): string {
    if (stream.isTTY !== true) return text;
    return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}

export function formatBytes(bytes: number): string {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let value = bytes;
    let unit = 0;
    while (value >= 1024 && unit < units.length - 1) {
        value /= 1024;
        unit++;
    }
    return unit === 0 ? `${value} B` : `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${units[unit] ?? ''}`;
}

export function formatDuration(seconds: number): string {
    const whole = Math.max(0, Math.round(seconds));
    const pad = (value: number) => String(value).padStart(2, '0');
    const minutes = Math.floor(whole / 60);
    if (minutes < 60) return `${minutes}:${pad(whole % 60)}`;
    return `${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${pad(whole % 60)}`;
}

/** One line on a terminal that says how far something is; silent everywhere else. */
export class ProgressLine {
    private started: number | undefined;
    private drawn = 0;
    private visible = false;

    constructor(
        private readonly label: string,
        private readonly unit: 'bytes' | 'tokens' | 'steps' | 'texts',
        private readonly stream: Stream = process.stderr,
        private readonly now: () => number = () => performance.now(),
    ) {}

    readonly update = ({ done, total }: Progress): void => {
        if (this.stream.isTTY !== true) return;
        const now = this.now();
        this.started ??= now;
        // Ten times a second is enough for eyes.
        if (this.visible && now - this.drawn < 100 && done < total) return;
        this.drawn = now;
        this.visible = true;
        const line = describeProgress(this.label, this.unit, done, total, (now - this.started) / 1000);
        // Some terminals claim to be 0 columns wide.
        this.stream.write(`\r${line.slice(0, (this.stream.columns || 80) - 1)}\u001b[K`);
    };

    /** Leaves no trace: what stays on the screen are results. */
    clear(): void {
        if (this.visible) this.stream.write('\r\u001b[K');
        this.visible = false;
    }
}

export function describeProgress(
    label: string,
    unit: 'bytes' | 'tokens' | 'steps' | 'texts',
    done: number,
    total: number,
    seconds: number,
): string {
    const amount = (value: number) => (unit === 'bytes' ? formatBytes(value) : `${Math.round(value)}`);
    const percent = total > 0 ? Math.floor((100 * done) / total) : 100;
    const parts = [`${label} ${String(percent).padStart(3)} %`, `${amount(done)} of ${amount(total)}`];
    // The first moments say nothing about the rate.
    if (seconds > 0.3 && done > 0) {
        const rate = done / seconds;
        parts.push(unit === 'bytes' ? `${formatBytes(rate)}/s` : `${rate.toFixed(1)} ${unit}/s`);
        if (done < total) parts.push(`${formatDuration((total - done) / rate)} left`);
    }
    return parts.join('  ');
}

/** Columns of text, the first ones left-aligned, numbers right-aligned by the caller's choice. */
export function formatTable(rows: readonly (readonly string[])[], right: readonly boolean[] = []): string[] {
    const widths: number[] = [];
    for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
    return rows.map((row) =>
        row
            .map((cell, i) => (right[i] ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
            .join('  ')
            .trimEnd(),
    );
}
