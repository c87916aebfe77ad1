// The place for the one loaded model. Another one takes it only when its bytes are there and its header was read and
// found to be right: until then the first goes on answering, and if the weights then fail it is loaded again.
import type { EngineInfo } from 'lapidary';
import { isAbort } from '../chat/backend.js';
import { HeldBack } from './attempts.js';
import { sentence } from '../chat/answer.js';
import { Observable } from '../store/observable.js';
import { choiceName, type EngineState, type LoadWish, type Stage } from './protocol.js';
import { RateMeter } from './rate.js';

/** What the slot has to know of an engine. */
export interface Loaded {
    readonly info: EngineInfo;
    dispose(): Promise<void>;
}

/** What whoever opens a model tells meanwhile. */
export interface Opening {
    signal: AbortSignal;
    onProgress(stage: Stage, done: number, total: number): void;
    /** Before the weights: there may be no room for two. */
    onOpened(): Promise<void>;
    /** After a lost GPU it is another one, or the CPU. */
    onInfo(info: EngineInfo): void;
}

type Open<Engine> = (wish: LoadWish, opening: Opening) => Promise<Engine>;

interface Held<Engine> {
    engine: Engine;
    wish: LoadWish;
    name: string;
}

type Refusal = NonNullable<EngineState['refused']>;

export class Slot<Engine extends Loaded> {
    readonly state = new Observable<EngineState>({ phase: 'idle', name: '' });
    private held: Held<Engine> | undefined;
    private loading: AbortController | undefined;
    /** The last one that answered. */
    private lastGood: LoadWish | undefined;
    /** Answers under way, which end before their model goes. */
    private readonly uses = new Set<Promise<unknown>>();
    private leaving: Promise<unknown> = Promise.resolve();

    /** `spare` is loaded when something else was asked for first and cannot be used. */
    constructor(
        private readonly open: Open<Engine>,
        private readonly spare: (wish: LoadWish) => LoadWish | undefined,
        private readonly note: (level: string, text: string) => void = () => undefined,
    ) {}

    get engine(): Engine | undefined {
        return this.held?.engine;
    }

    /** Whether it answers now. Never rejects: how it ended is in the state. */
    async load(wish: LoadWish): Promise<boolean> {
        return await this.replace(wish, undefined);
    }

    /** What was seen of the model that answers. */
    tell(seen: Pick<EngineState, 'measured'>): void {
        if (this.state.value.phase === 'ready') this.state.update(seen);
    }

    /** For an engine that died: nobody should ask it again. */
    async renew(broken: Engine): Promise<void> {
        const { held } = this;
        if (held?.engine !== broken) return;
        this.held = undefined;
        await broken.dispose();
        await this.load(held.wish);
    }

    cancel(): void {
        this.loading?.abort();
    }

    async dispose(): Promise<void> {
        this.loading?.abort();
        const { held } = this;
        this.held = undefined;
        await held?.engine.dispose();
    }

    /** Nobody takes the model away until this is over. */
    async use<Result>(work: (engine: Engine) => Promise<Result>, signal: AbortSignal): Promise<Result> {
        const running = work(await this.ready(signal));
        const over = running.catch(() => undefined);
        this.uses.add(over);
        try {
            return await running;
        } finally {
            this.uses.delete(over);
        }
    }

    /** Waits for a model that is being loaded. */
    async ready(signal: AbortSignal): Promise<Engine> {
        for (;;) {
            signal.throwIfAborted();
            const { phase, problem } = this.state.value;
            if (phase === 'ready' && this.held) return this.held.engine;
            if (phase === 'failed') throw new Error(problem ?? 'no model is loaded');
            await new Promise<void>((resolve) => {
                const done = () => {
                    unsubscribe();
                    signal.removeEventListener('abort', done);
                    resolve();
                };
                const unsubscribe = this.state.subscribe(done);
                signal.addEventListener('abort', done);
            });
        }
    }

    private async replace(wish: LoadWish, refused: Refusal | undefined): Promise<boolean> {
        this.loading?.abort();
        const loading = new AbortController();
        this.loading = loading;
        const mine = () => this.loading === loading;
        const name = choiceName(wish.choice);
        const meter = new RateMeter();
        const show = (stage: Stage, done: number, total: number) => {
            if (!mine()) return;
            const coming = { name, stage, progress: meter.measure(done, total) };
            if (this.held) this.state.set({ ...this.answering(this.held), coming });
            else this.state.set({ phase: 'loading', wish, ...coming, ...(refused ? { refused } : {}) });
        };
        show(wish.choice.kind === 'builtin' ? 'download' : 'open', 0, 0);
        this.note('info', `loading ${name}`);
        try {
            const engine = await this.open(wish, {
                signal: loading.signal,
                onProgress: show,
                onOpened: async () => await this.makeRoom(loading.signal, () => show('weights', 0, 0)),
                onInfo: (info) => {
                    const { held } = this;
                    if (held?.wish !== wish || this.state.value.phase !== 'ready') return;
                    this.state.set({ ...this.state.value, info });
                },
            });
            if (loading.signal.aborted) {
                await engine.dispose();
                throw new DOMException('stopped', 'AbortError');
            }
            this.held = { engine, wish, name };
            this.lastGood = wish;
            this.state.set({ ...this.answering(this.held), ...(refused ? { refused } : {}) });
            this.note('info', `${name} is ready: ${engine.info.why}`);
            return true;
        } catch (error) {
            if (!mine()) return false; // something else is being loaded by now
            return await this.failed(wish, name, error, refused);
        } finally {
            if (mine()) this.loading = undefined;
        }
    }

    /** The sentence is shown beside whatever answers instead. */
    private async failed(wish: LoadWish, name: string, error: unknown, before: Refusal | undefined): Promise<false> {
        const stopped = isAbort(error);
        const problem = stopped ? 'Loading was stopped.' : sentence(error);
        this.note('error', `${name}: ${problem}`);
        const kept = this.lastGood !== undefined;
        const again = error instanceof HeldBack ? { again: wish.choice } : {};
        const refused = before ?? (stopped ? undefined : { name, problem: reason(error), kept, ...again });
        if (this.held) {
            this.state.set({ ...this.answering(this.held), ...(refused ? { refused } : {}) });
            return false;
        }
        const instead = before ? undefined : (this.lastGood ?? (stopped ? undefined : this.spare(wish)));
        if (!instead) this.state.set({ phase: 'failed', wish, name, problem, ...(before ? { refused: before } : {}) });
        else await this.replace(instead, refused);
        return false;
    }

    private async makeRoom(signal: AbortSignal, show: () => void): Promise<void> {
        const before = this.leaving;
        const leave = async () => {
            await before;
            const { held } = this;
            this.held = undefined;
            show();
            if (!held) return;
            await Promise.all(this.uses);
            // Who changed their mind while an answer was finished keeps it.
            if (signal.aborted) this.held = held;
            else await held.engine.dispose();
        };
        this.leaving = leave();
        await this.leaving;
        signal.throwIfAborted();
    }

    private answering({ engine, wish, name }: Held<Engine>): EngineState {
        return { phase: 'ready', wish, name, info: engine.info };
    }
}

/** Goes on behind "cannot be used:". */
function reason(error: unknown): string {
    const text = (error instanceof Error ? error.message : String(error)).trim();
    return /[.!?…]$/.test(text) ? text : `${text}.`;
}
