// How much is asked of a software GPU. It needs a fifth of a second for a token even of a tiny model, so in everyday
// tests there are few of them; LAPIDARY_THOROUGH=1 makes as many as it takes to be sure.

export const thorough = (process.env['LAPIDARY_THOROUGH'] ?? '') !== '';

export function many(everyday: number, thoroughly: number): number {
    return thorough ? thoroughly : everyday;
}
