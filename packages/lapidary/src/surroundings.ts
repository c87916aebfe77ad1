// Where the library runs.

/** Node, Deno or Bun. */
export function isNode(): boolean {
    return typeof document === 'undefined' && typeof process === 'object' && typeof process.versions?.node === 'string';
}
