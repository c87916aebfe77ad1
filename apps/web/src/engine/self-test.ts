// A few quick questions whose answers are known: does the engine on this device do what it should?
import type { LoadedEngine } from 'lapidary';
import type { SelfTest } from './protocol.js';

export async function selfTest(engine: LoadedEngine, signal: AbortSignal): Promise<SelfTest[]> {
    const greedy = async () =>
        await engine.complete('Once upon a time', { max_tokens: 12, temperature: 0 }, { signal });
    return [
        await check('text survives the tokenizer', async () => {
            const text = 'Once upon a time: “gem” 💎 — naïve.';
            const tokens = await engine.tokenize(text, { addBos: false, parseSpecial: false });
            const back = await engine.detokenize(tokens);
            return [back === text, `${tokens.length} tokens → ${JSON.stringify(back)}`];
        }),
        await check('the likeliest answer is always the same', async () => {
            const [first, second] = [await greedy(), await greedy()];
            return [first === second && first !== '', JSON.stringify(first)];
        }),
        await check('an answer can be stopped', async () => {
            const stop = new AbortController();
            stop.abort();
            try {
                await engine.complete('Once', { max_tokens: 1000 }, { signal: stop.signal });
                return [false, 'it went on'];
            } catch {
                return [true, 'it ended at once'];
            }
        }),
    ];
}

async function check(name: string, work: () => Promise<[passed: boolean, detail: string]>): Promise<SelfTest> {
    const started = performance.now();
    const ended = (passed: boolean, detail: string): SelfTest => ({
        name,
        passed,
        detail,
        ms: Math.round(performance.now() - started),
    });
    try {
        return ended(...(await work()));
    } catch (error) {
        return ended(false, error instanceof Error ? error.message : String(error));
    }
}
