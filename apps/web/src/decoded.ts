/** A part of an address in plain letters. One with a stray '%' was not written by us, and stays as it is. */
export function decoded(part: string): string {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}
