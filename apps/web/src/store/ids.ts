/** Unique, and usable where `crypto.randomUUID` is not: pages served over plain http from another machine. */
export function newId(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
