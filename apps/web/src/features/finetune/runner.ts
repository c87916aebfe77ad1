// The training this tab has started. It goes on while one looks at other pages.
import { sentence } from '../../chat/answer.js';
import type { EngineLink } from '../../engine/link.js';
import type { RunEvent } from '../../engine/protocol.js';
import { newId } from '../../store/ids.js';
import { Observable } from '../../store/observable.js';
import { createRun, openRun, removeRun, saveRun, type Run } from '../../store/workshop.js';
import { announce, notify } from '../../views/notices.js';

/** As it is now; undefined when none is under way here. */
export const live = new Observable<Run | undefined>(undefined);
let stop: AbortController | undefined;
let ended: Promise<void> | undefined;

export type NewRun = Pick<Run, 'name' | 'model' | 'settings' | 'dataOptions' | 'steps'> & {
    data: Blob;
    questions: readonly string[];
};

export async function startRun(engine: EngineLink, { data, questions, ...wish }: NewRun): Promise<string> {
    const run: Run = {
        ...wish,
        id: newId(),
        createdAt: Date.now(),
        state: 'running',
        step: 0,
        saved: 0,
        losses: [],
        validations: [],
        samples: questions.map((question) => ({ question })),
        seconds: 0,
        tokensPerSecond: 0,
    };
    await createRun(run, data);
    goOn(engine, run);
    return run.id;
}

export async function resumeRun(engine: EngineLink, id: string): Promise<void> {
    const opened = await openRun(id);
    if (opened) goOn(engine, opened.run);
}

function goOn(engine: EngineLink, run: Run): void {
    if (stop) return notify('One training at a time: pause the other one first.');
    const controller = new AbortController();
    stop = controller;
    live.set({ ...run, state: 'running' });
    // From now on there is something to lose.
    void navigator.storage?.persist?.();
    const take = (event: RunEvent) => {
        if (event.type === 'notice') return notify(event.text);
        if (!controller.signal.aborted) return live.set(event.run);
        // It ends the step it is in and tells of it, when it may be thrown away or under way again already.
        if (live.value?.id === run.id && live.value.state === 'paused') live.set({ ...event.run, state: 'paused' });
    };
    ended = engine
        .call('train', run.id, take, controller.signal)
        .then(
            (last) => {
                live.set(last);
                if (last.state === 'finished') announce(`The training of ${last.name} is finished`);
                if (last.state === 'failed') notify(`The training stopped. ${last.problem ?? ''}`);
            },
            (error: unknown) => {
                const current = live.value ?? run;
                // Paused: the tab with the engine stores where it was.
                if (controller.signal.aborted) live.set({ ...current, state: 'paused' });
                else live.set({ ...current, state: 'failed', problem: sentence(error) });
            },
        )
        .finally(() => {
            stop = undefined;
            ended = undefined;
        });
}

export async function pauseRun(): Promise<void> {
    stop?.abort();
    await ended;
}

/** For good: what it has learnt so far is thrown away. */
export async function discardRun(id: string): Promise<void> {
    if (live.value?.id === id) {
        await pauseRun();
        live.set(undefined);
    }
    await removeRun(id);
}

/** Makes room for another one. */
export function putAway(): void {
    if (!stop) live.set(undefined);
}

export async function renameRun(run: Run, name: string): Promise<void> {
    await saveRun({ ...run, name });
}
