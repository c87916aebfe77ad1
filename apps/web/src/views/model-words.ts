// What the chat says about models: those that come, those that cannot be used, the file of the last visit.
export const dismiss = 'Dismiss';
export const loadAgain = 'Load it again';
export const openAgain = 'Open it again';
export const forgetFile = 'Not now';

export function cannotBeUsed(name: string): string {
    return `${name} cannot be used:`;
}

export function goesOn(name: string, kept: boolean): string {
    return kept ? `${name} goes on answering.` : `${name} answers instead.`;
}

export function openedFromFile(name: string, canOpen: boolean): string {
    if (canOpen) return `${name} was opened from a file.`;
    return `${name} was opened from a file, which this browser forgets. Drop it here again to answer with it.`;
}
