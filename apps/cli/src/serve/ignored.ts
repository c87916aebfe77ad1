// What a request asks for and does not get: not an error, but to be seen by who looks.

export function ignoredHeader(names: readonly string[]): Record<string, string> {
    const shown = [...new Set(names)].filter((name) => /^\w{1,40}$/.test(name)).slice(0, 20);
    return shown.length === 0 ? {} : { 'x-lapidary-ignored': shown.join(', ') };
}
