// One engine for all tabs. The first tab takes a Web Lock and has the engine; the others reach it over a
// BroadcastChannel. When that tab closes, the lock passes to another tab, which loads the model again and goes on with what
// was under way. A tab that a phone put to sleep loses the lock to one that waits for it in vain.
import { LapidaryError } from 'lapidary';
import { Rpc, channelPort, loopback, type Port } from 'lapidary/rpc';
import type { ChatBackend } from '../chat/backend.js';
import { newId } from '../store/ids.js';
import { Observable } from '../store/observable.js';
import { EngineHost } from './host.js';
import { Leader, engineOf, tabLock } from './leader.js';
import { mergeStates, type Calls, type Control, type EngineState, type LoadWish, type Method } from './protocol.js';
import { nextTerm } from './term.js';

declare const __APP_VERSION__: string;

const lockName = 'lapidary-engine';
const pingEveryMs = 3000;
// Long enough for a busy machine, short enough for a person.
const patienceMs = 15_000;

export type Standing = 'starting' | 'host' | 'guest';

interface Pending {
    method: Method;
    args: unknown;
    onEvent: (event: never) => void;
    signal: AbortSignal | undefined;
    resolve: (result: never) => void;
    reject: (error: unknown) => void;
}

export class EngineLink implements ChatBackend {
    readonly state = new Observable<EngineState>({ phase: 'idle', name: '' });
    readonly standing = new Observable<Standing>('starting');
    private readonly tab = newId();
    /** Asked again of the engine's new home when it moves. */
    private readonly pending = new Set<Pending>();
    private readonly channel: BroadcastChannel | undefined;
    private readonly locks: LockManager | undefined;
    private leader: Leader | undefined;
    /** The engine, wherever it is; undefined while nobody has answered yet. */
    private rpc: Rpc<Calls> | undefined;
    /** Of the engine that was heard last. */
    private term = 0;
    private heardAt = 0;
    /** Of this tab, where the engine never told what it has. */
    private wish: LoadWish | undefined;

    constructor() {
        this.locks = navigator.locks as LockManager | undefined;
        if (typeof BroadcastChannel === 'undefined' || !this.locks) return;
        void this.locks.request(tabLock(this.tab), async () => await forever());
        this.channel = new BroadcastChannel('lapidary-engine');
        this.channel.addEventListener('message', ({ data }: MessageEvent<Control>) => this.receive(data));
        setInterval(() => this.watch(), pingEveryMs);
    }

    /** `wish` is loaded unless another tab has a model already. */
    async start(wish: LoadWish | undefined): Promise<void> {
        this.wish = wish;
        if (!this.locks || !this.channel) return await this.lead(wish);
        await new Promise<void>((resolve) => {
            void this.locks?.request(lockName, { ifAvailable: true }, async (lock) => {
                if (lock) await this.lead(wish);
                resolve();
                if (lock) await forever();
            }).catch(() => this.loseEngine());
        });
        if (!this.leader) this.follow();
    }

    async call<M extends Method>(
        method: M,
        args: Calls[M]['args'],
        onEvent: (event: Calls[M]['event']) => void = () => undefined,
        signal?: AbortSignal,
    ): Promise<Calls[M]['result']> {
        signal?.throwIfAborted();
        let pending: Pending | undefined;
        let abort: (() => void) | undefined;
        try {
            return await new Promise<Calls[M]['result']>((resolve, reject) => {
                pending = { method, args, onEvent: onEvent as Pending['onEvent'], signal, resolve, reject };
                this.pending.add(pending);
                // The person need not wait until the other side has ended it.
                abort = () => reject(new DOMException('stopped', 'AbortError'));
                signal?.addEventListener('abort', abort);
                this.dispatch(pending);
            });
        } finally {
            if (pending) this.pending.delete(pending);
            if (abort) signal?.removeEventListener('abort', abort);
        }
    }

    readonly answer: ChatBackend['answer'] = async (request, onDelta, signal) =>
        await this.call('answer', request, onDelta, signal);

    /** While nobody has the engine it waits: whoever gets it will be asked. */
    private dispatch(pending: Pending): void {
        const { rpc } = this;
        if (!rpc) return;
        if (!this.leader) this.heardAt = Math.max(this.heardAt, performance.now() - pingEveryMs);
        const { method, args, signal, onEvent } = pending;
        const here = () => this.rpc === rpc && this.pending.has(pending);
        // Who was stopped still tells: a training ends its step, and stores what it has.
        const tell = (event: unknown) => (this.rpc === rpc ? onEvent(event as never) : undefined);
        rpc.call(method, args as never, { signal, onEvent: tell }).then(
            (result) => here() && pending.resolve(result as never),
            (error: unknown) => here() && pending.reject(error),
        );
    }

    private async lead(wish: LoadWish | undefined): Promise<void> {
        if (this.leader) return;
        const term = await nextTerm();
        this.leader = new Leader(new EngineHost(), term, __APP_VERSION__, this.channel, this.locks);
        const { host, handlers } = this.leader;
        const [own, engine] = loopback();
        new Rpc<Record<never, never>, Calls>(engine, handlers, { watch: mergeStates });
        this.standing.set('host');
        if (wish) void host.load(wish);
        this.connect(own, term);
    }

    /** Another tab could not wait any longer. */
    private loseEngine(): void {
        const { leader } = this;
        if (!leader) return;
        const { rpc } = this;
        this.leader = undefined;
        this.rpc = undefined; // what it still says, now that everything is taken from it, nobody wants to hear
        rpc?.close(moved());
        leader.end();
        this.follow();
    }

    private follow(): void {
        this.standing.set('guest');
        this.heardAt = performance.now();
        this.greet();
        // Granted when the tab that has the engine is closed.
        this.locks
            ?.request(lockName, async () => {
                await this.lead(this.state.value.wish ?? this.wish);
                await forever();
            })
            .catch(() => this.loseEngine());
    }

    private greet(): void {
        this.say({ control: 'hello', tab: this.tab, version: __APP_VERSION__ });
    }

    /** To an engine that is new: everything that still waits is asked of it. */
    private connect(port: Port, term: number): void {
        const { rpc: before, term: last } = this;
        this.term = term;
        const rpc = new Rpc<Calls>(port, {});
        this.rpc = rpc;
        before?.close(moved());
        rpc.call('watch', undefined, { onEvent: (state) => this.rpc === rpc && this.state.set(state) }).catch(() => undefined);
        for (const pending of this.pending) {
            if (last > 0 && pending.method === 'answer') pending.onEvent({ type: 'restart' } as never);
            this.dispatch(pending);
        }
    }

    /** Guests that wait for something look whether the engine is still alive. */
    private watch(): void {
        if (this.standing.value !== 'guest') return;
        const waiting = this.pending.size > 0 || !this.rpc || this.state.value.phase === 'loading';
        if (!waiting) return;
        if (performance.now() - this.heardAt < patienceMs) return this.greet();
        if (document.visibilityState !== 'visible') return; // who is not looked at steals nothing
        this.heardAt = performance.now();
        this.locks
            ?.request(lockName, { steal: true }, async () => {
                await this.lead(this.state.value.wish ?? this.wish);
                await forever();
            })
            .catch(() => this.loseEngine());
    }

    private receive(message: Control): void {
        const { control, term = 0 } = message;
        if (this.leader || this.standing.value !== 'guest' || term < this.term) return; // of an engine that is no more
        if (control === 'here') return this.greet();
        if (control !== 'welcome' && control !== 'other-version') return;
        if (message.tab !== this.tab) return;
        this.heardAt = performance.now();
        if (control === 'other-version') return this.state.set({ phase: 'failed', name: '', problem: otherVersion });
        if (term === this.term || !this.channel) return;
        this.connect(this.noting(channelPort(this.channel, this.tab, engineOf(term))), term);
    }

    /** Whatever the engine says shows that it is alive. */
    private noting(port: Port): Port {
        return {
            post: (message, transfer) => port.post(message, transfer),
            listen: (receive) =>
                port.listen((message) => {
                    this.heardAt = performance.now();
                    receive(message);
                }),
        };
    }

    private say(message: Control): void {
        this.channel?.postMessage(message);
    }
}

function moved(): LapidaryError {
    return new LapidaryError('cancelled', 'the engine moved to another tab');
}

const otherVersion = 'Another tab runs another version of Lapidary: reload both, or close that one.';

async function forever(): Promise<never> {
    return await new Promise<never>(() => undefined);
}
