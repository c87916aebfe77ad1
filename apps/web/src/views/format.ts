// Numbers for people.

export function formatBytes(bytes: number): string {
    if (bytes < 1000) return `${bytes} B`;
    const units = ['kB', 'MB', 'GB', 'TB'];
    let value = bytes / 1000;
    let unit = 0;
    while (value >= 999.5 && unit < units.length - 1) {
        value /= 1000;
        unit++;
    }
    return `${value >= 100 || unit === 0 ? Math.round(value) : Number(value.toPrecision(2))} ${units[unit]}`;
}

/** "1.2 of 3.4 GB" */
export function formatPart(done: number, total: number): string {
    if (total <= 0) return formatBytes(done);
    const [whole, unit = ''] = formatBytes(total).split(' ');
    const [part, partUnit] = formatBytes(done).split(' ');
    return partUnit === unit ? `${part} of ${whole} ${unit}` : `${formatBytes(done)} of ${formatBytes(total)}`;
}

export function formatDuration(seconds: number): string {
    if (seconds < 1) return 'a moment';
    if (seconds < 90) return `${Math.round(seconds)} s`;
    if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
    return `${Number((seconds / 3600).toFixed(1))} h`;
}

export function formatRate(perSecond: number): string {
    return perSecond >= 100 ? String(Math.round(perSecond)) : perSecond.toFixed(1);
}

export function formatCount(count: number): string {
    return count >= 10_000 ? `${Math.round(count / 1000)}k` : count.toLocaleString('en');
}

/** Of parameters. */
export function formatLarge(count: number): string {
    if (count >= 1e9) return `${(count / 1e9).toFixed(1)} billion`;
    return count >= 1e6 ? `${(count / 1e6).toFixed(1)} million` : formatCount(count);
}

/** "today", "yesterday", a weekday, a date: how the list of conversations is divided. */
export function dayOf(time: number, now = Date.now()): string {
    const day = (at: number) => new Date(at).setHours(0, 0, 0, 0);
    const days = Math.round((day(now) - day(time)) / 86_400_000);
    if (days <= 0) return 'Today';
    if (days === 1) return 'Yesterday';
    if (days < 7) return 'This week';
    if (days < 31) return 'This month';
    return new Date(time).toLocaleDateString('en', { month: 'long', year: 'numeric' });
}

/** "18 Nov 2026, 14:05" */
export function formatMoment(time: number): string {
    return new Date(time).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
}
