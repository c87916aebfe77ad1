// What is taken from people. Bounds memory and time before anything is decoded; the engine has limits of its own.

/** Of one picture. Decoded it takes four bytes each. */
export const maxPixels = 100e6;
export const maxFileBytes = 256 * 1024 * 1024;
/** Half an hour, as the engine's. */
export const maxSeconds = 1800;

/** 95 → "1:35", 36000 → "10:00:00". */
export function formatDuration(seconds: number): string {
    const whole = Math.floor(seconds);
    const two = (n: number) => String(n).padStart(2, '0');
    const minutes = Math.floor(whole / 60);
    if (minutes < 60) return `${minutes}:${two(whole % 60)}`;
    return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}
