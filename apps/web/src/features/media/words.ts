/** 95 → 1:35 */
export function clock(seconds: number): string {
    const whole = Math.floor(seconds);
    return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

export const details = { low: 'small', auto: 'auto', high: 'fine' } as const;
export type Detail = keyof typeof details;

export const tokens = (count: number) => `${count.toLocaleString('en')} tokens`;
export const inPieces = (pieces: number) => `cut into ${pieces} pieces`;
