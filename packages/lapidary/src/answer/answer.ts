// Has a request answered, and tells what happens meanwhile.
import type { Core } from '../core/core.js';
import type { GenerateRequest } from '../session.js';
import { Fold, Telling, type AnswerEvent, type Ended } from './events.js';

export interface AnswerOptions {
    signal?: AbortSignal | undefined;
    onEvent?: ((event: AnswerEvent) => void) | undefined;
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
    tell(end);
    return fold.ended(end);
}
