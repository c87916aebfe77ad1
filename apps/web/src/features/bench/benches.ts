// What was measured on this device, newest first: a measurement is worth something beside others.
import { Observable } from '../../store/observable.js';

export type Measured = Record<string, unknown>;

const key = 'lapidary-benches';
const mostKept = 20;

/** Only a list of objects is one of ours; the words in it are looked at where they are shown. */
export function parseBenches(text: string | null): Measured[] {
    try {
        const stored: unknown = JSON.parse(text ?? '[]');
        if (!Array.isArray(stored)) return [];
        return stored.filter((one) => typeof one === 'object' && one !== null && !Array.isArray(one)).slice(0, mostKept);
    } catch {
        return [];
    }
}

export const benches = new Observable<readonly Measured[]>(read());

export function keepBench(result: Measured): void {
    store([result, ...read()].slice(0, mostKept));
}

export function forgetBenches(): void {
    store([]);
}

function read(): Measured[] {
    try {
        return parseBenches(localStorage.getItem(key));
    } catch {
        return []; // storage is forbidden here
    }
}

function store(list: readonly Measured[]): void {
    benches.set(list);
    try {
        localStorage.setItem(key, JSON.stringify(list));
    } catch {
        // Then they last as long as the page.
    }
}
