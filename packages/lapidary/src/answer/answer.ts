// Has a request answered, and tells what happens meanwhile.
import type { Core } from '../core/core.js';
import type { GenerateRequest } from '../session.js';
import { Fold, Telling, type AnswerEvent, type End, type Ended } from './events.js';

export interface AnswerOptions {
    signal?: AbortSignal | undefined;
    onEvent?: ((event: AnswerEvent) => void) | undefined;
}

/** Of all answers of a loaded model that came to their end. */
export interface AnswerTotals {
    answers: number;
    prompt: number;
    cached: number;
    completion: number;
    promptMs: number;
    completionMs: number;
}

const totals = new WeakMap<Core, AnswerTotals>();

export function totalsOf(core: Core): AnswerTotals {
    let known = totals.get(core);
    if (!known) totals.set(core, (known = { answers: 0, prompt: 0, cached: 0, completion: 0, promptMs: 0, completionMs: 0 }));
    return known;
}

function count(all: AnswerTotals, { usage, times }: End): void {
    all.answers++;
    all.prompt += usage.prompt;
    all.cached += usage.cached;
    all.completion += usage.completion;
    all.promptMs += times.prompt_ms;
    all.completionMs += times.completion_ms;
}

export async function answer(core: Core, request: GenerateRequest, { signal, onEvent }: AnswerOptions): Promise<Ended> {
    const telling = new Telling(request.continue_tokens?.length);
    const fold = new Fold();
    const tell = (event: AnswerEvent) => {
        fold.take(event);
        onEvent?.(event);
    };
    const result = await core.generate(request, {
        signal,
        onEvent: (event) => tell(telling.of(event)),
        onProgress: ({ done, total }) => tell({ type: 'reading', done, total }),
    });
    const end = telling.end(result);
    count(totalsOf(core), end);
    tell(end);
    return fold.ended(end);
}
