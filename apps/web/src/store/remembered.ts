// Which model answered at the last visit, in localStorage: needed before anything is loaded.
import { choiceName, type ModelChoice } from '../engine/protocol.js';

const key = 'lapidary-model';

export interface Remembered {
    /** To be loaded at once. */
    choice: ModelChoice;
    /** It was this file; whether it can be read again is another question. */
    file?: string;
}

export function remember(choice: ModelChoice): void {
    try {
        const stored = storedForm(choice);
        if (stored) localStorage.setItem(key, JSON.stringify(stored));
        else localStorage.removeItem(key);
    } catch {
        // Storage is forbidden: nothing is remembered.
    }
}

function storedForm(choice: ModelChoice): object | undefined {
    if (choice.kind === 'ollama' || choice.kind === 'url' || choice.kind === 'kept') return choice;
    return choice.kind === 'files' ? { kind: 'files', name: choiceName(choice) } : undefined;
}

export function remembered(): Remembered {
    try {
        return parseRemembered(localStorage.getItem(key));
    } catch {
        return { choice: { kind: 'builtin' } };
    }
}

/** The stored text may be from another version, or hand-made. */
export function parseRemembered(text: string | null): Remembered {
    let stored: Record<string, unknown> = {};
    try {
        const parsed: unknown = JSON.parse(text ?? '{}');
        if (typeof parsed === 'object' && parsed !== null) stored = parsed as Record<string, unknown>;
    } catch {
        // Damaged.
    }
    const { kind, model, url, name, title } = stored;
    if (kind === 'ollama' && typeof model === 'string') return { choice: { kind, model } };
    if (kind === 'url' && typeof url === 'string') return { choice: { kind, url } };
    if (kind === 'kept' && typeof name === 'string' && typeof title === 'string') return { choice: { kind, name, title } };
    const choice = { kind: 'builtin' } as const;
    return kind === 'files' && typeof name === 'string' ? { choice, file: name } : { choice };
}

const offerKey = 'lapidary-offer';

/** Whether the first visit's offer was closed, or has become needless. */
export function offerIsOver(): boolean {
    try {
        return localStorage.getItem(offerKey) === 'over';
    } catch {
        return true; // what cannot be closed for good is not begun
    }
}

export function endOffer(): void {
    try {
        localStorage.setItem(offerKey, 'over');
    } catch {
        // Storage is forbidden.
    }
}
