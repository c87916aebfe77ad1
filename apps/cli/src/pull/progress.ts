// The line that says how far a download is. Only for terminals; it leaves no trace.
import { formatBytes } from 'lapidary';
import type { PullProgress } from 'lapidary/hub';
import { formatDuration, type Stream } from '../terminal.js';

const barWidth = 24;

export class PullLine {
    private visible = false;

    constructor(private readonly stream: Stream = process.stderr) {}

    readonly update = (progress: PullProgress): void => {
        if (this.stream.isTTY !== true) return;
        this.visible = true;
        const columns = this.stream.columns || 80;
        this.stream.write(`\r${[...describePull(progress, columns)].slice(0, columns - 1).join('')}\u001b[K`);
    };

    clear(): void {
        if (this.visible) this.stream.write('\r\u001b[K');
        this.visible = false;
    }
}

export function describePull(progress: PullProgress, columns: number): string {
    const { state, done, total, rate, etaSeconds, number, files, pause } = progress;
    const share = total > 0 ? Math.min(1, done / total) : 0;
    const full = Math.floor(share * barWidth);
    const bar = columns >= 70 ? [`${'█'.repeat(full)}${'░'.repeat(barWidth - full)}`] : [];
    const amount = total > 0 ? `${formatBytes(done)} of ${formatBytes(total)}` : formatBytes(done);
    const parts = [...bar, `${String(Math.floor(share * 100)).padStart(3)} %`, amount];
    if (files > 1) parts.push(`file ${number} of ${files}`);
    if (state === 'downloading' && rate > 0) {
        parts.push(`${formatBytes(rate)}/s`);
        if (etaSeconds !== undefined) parts.push(`${formatDuration(etaSeconds)} left`);
    } else if (state === 'retrying') {
        const seconds = Math.ceil(pause?.seconds ?? 0);
        parts.push(`${pause?.reason ?? 'the connection broke off'}; again in ${seconds} s`);
    } else {
        parts.push(words[state]);
    }
    return parts.join('  ');
}

const words: Record<PullProgress['state'], string> = {
    waiting: 'another program downloads it',
    checking: 'looking at what is there',
    downloading: '',
    retrying: '',
    verifying: 'comparing with its checksum',
    again: 'it did not match its checksum and is fetched again',
};
