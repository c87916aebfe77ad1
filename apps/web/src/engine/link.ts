// One engine for all tabs. The first tab takes a Web Lock and has the engine; the others reach it over a
// BroadcastChannel. When that tab closes, the lock passes to another tab, which loads the model again and goes on with what
// was under way. A tab that a phone put to sleep loses the lock to one that waits for it in vain.
import type { ChatBackend } from '../chat/backend.js';
import { newId } from '../store/ids.js';
import { Observable } from '../store/observable.js';
import { EngineHost } from './host.js';
import type { CallError, Calls, Envelope, EngineState, LoadWish, Method } from './protocol.js';

const lockName = 'lapidary-engine';
const pingEveryMs = 3000;
// Long enough for a busy machine, short enough for a person.
const patienceMs = 15_000;

export type Standing = 'starting' | 'host' | 'guest';

interface Pending {
    method: Method;
    args: unknown;
    onEvent: (event: unknown) => void;
    resolve: (result: unknown) => void;
    reject: (error: unknown) => void;
    /** Stops it, when it runs here. */
    local?: AbortController;
}

type Message = Envelope extends infer E ? (E extends Envelope ? Omit<E, 'from'> : never) : never;

export class EngineLink implements ChatBackend {
    readonly state = new Observable<EngineState>({ phase: 'idle', name: '' });
    readonly standing = new Observable<Standing>('starting');
    private readonly tab = newId();
    private readonly pending = new Map<string, Pending>();
    /** Calls of guests that run here, by guest and call. */
    private readonly served = new Map<string, AbortController>();
    private readonly channel: BroadcastChannel | undefined;
    private readonly locks: LockManager | undefined;
    private host: EngineHost | undefined;
    private hostTab: string | undefined;
    private heardAt = 0;

    constructor() {
        this.locks = navigator.locks as LockManager | undefined;
        if (typeof BroadcastChannel === 'undefined' || !this.locks) return;
        this.channel = new BroadcastChannel('lapidary-engine');
        this.channel.addEventListener('message', ({ data }: MessageEvent<Envelope>) => this.receive(data));
        setInterval(() => this.watch(), pingEveryMs);
    }

    /** `wish` is loaded unless another tab has a model already. */
    async start(wish: LoadWish | undefined): Promise<void> {
        if (!this.locks || !this.channel) return this.becomeHost(wish);
        await new Promise<void>((resolve) => {
            void this.locks?.request(lockName, { ifAvailable: true }, async (lock) => {
                if (!lock) return resolve();
                this.becomeHost(wish);
                resolve();
                await this.keepHosting();
            }).catch(() => this.loseHost());
        });
        if (this.host) return;
        this.becomeGuest();
    }

    async call<M extends Method>(
        method: M,
        args: Calls[M]['args'],
        onEvent: (event: Calls[M]['event']) => void = () => undefined,
        signal?: AbortSignal,
    ): Promise<Calls[M]['result']> {
        signal?.throwIfAborted();
        const id = newId();
        let abort: (() => void) | undefined;
        try {
            return await new Promise<Calls[M]['result']>((resolve, reject) => {
                const pending: Pending = {
                    method,
                    args,
                    onEvent: onEvent as (event: unknown) => void,
                    resolve: resolve as (result: unknown) => void,
                    reject,
                };
                this.pending.set(id, pending);
                abort = () => {
                    pending.local?.abort();
                    this.post({ to: 'host', type: 'abort', call: id });
                    reject(new DOMException('stopped', 'AbortError'));
                };
                signal?.addEventListener('abort', abort);
                this.dispatch(id, pending);
            });
        } finally {
            this.pending.delete(id);
            if (abort) signal?.removeEventListener('abort', abort);
        }
    }

    readonly answer: ChatBackend['answer'] = async (request, onDelta, signal) =>
        await this.call('answer', request, onDelta, signal);

    private dispatch(id: string, pending: Pending): void {
        if (this.host) this.runHere(id, pending, this.host);
        else if (this.standing.value === 'guest') {
            this.heardAt = Math.max(this.heardAt, performance.now() - pingEveryMs);
            this.post({ to: 'host', type: 'call', call: id, method: pending.method, args: pending.args });
        }
        // While starting it waits: whoever becomes the host will be asked.
    }

    private runHere(id: string, pending: Pending, host: EngineHost): void {
        pending.local = new AbortController();
        host.handle(pending.method, pending.args as never, pending.onEvent as never, pending.local.signal).then(
            (result) => this.pending.has(id) && pending.resolve(result),
            (error: unknown) => this.pending.has(id) && pending.reject(error),
        );
    }

    private becomeHost(wish: LoadWish | undefined): void {
        if (this.host) return;
        const host = new EngineHost();
        this.host = host;
        this.hostTab = this.tab;
        this.standing.set('host');
        host.state.subscribe((state) => {
            if (this.host !== host) return;
            this.state.set(state);
            this.post({ to: 'all', type: 'state', state });
        });
        if (wish) void host.load(wish);
        else this.post({ to: 'all', type: 'state', state: host.state.value });
        this.resend();
    }

    private async keepHosting(): Promise<void> {
        await new Promise<never>(() => undefined);
    }

    /** Another tab could not wait any longer. */
    private loseHost(): void {
        const { host } = this;
        if (!host) return;
        this.host = undefined;
        for (const work of this.served.values()) work.abort();
        this.served.clear();
        void host.dispose();
        this.becomeGuest();
        this.resend();
    }

    private becomeGuest(): void {
        this.standing.set('guest');
        this.heardAt = performance.now();
        this.post({ to: 'host', type: 'hello' });
        this.resend();
        // Granted when the host's tab is closed.
        this.locks
            ?.request(lockName, async () => {
                this.becomeHost(this.state.value.wish);
                await this.keepHosting();
            })
            .catch(() => this.loseHost());
    }

    /** Everything that still waits is asked of the engine's new home. */
    private resend(): void {
        for (const [id, pending] of this.pending) {
            if (pending.method === 'answer') pending.onEvent({ type: 'restart' });
            this.dispatch(id, pending);
        }
    }

    /** Guests that wait for something look whether the host is still alive. */
    private watch(): void {
        if (this.standing.value !== 'guest') return;
        const waiting = this.pending.size > 0 || this.hostTab === undefined || this.state.value.phase === 'loading';
        if (!waiting) return;
        if (performance.now() - this.heardAt < patienceMs) return this.post({ to: 'host', type: 'ping' });
        if (document.visibilityState !== 'visible') return; // who is not looked at steals nothing
        this.heardAt = performance.now();
        this.locks
            ?.request(lockName, { steal: true }, async () => {
                this.becomeHost(this.state.value.wish);
                await this.keepHosting();
            })
            .catch(() => this.loseHost());
    }

    private receive(message: Envelope): void {
        const forMe = message.to === this.tab || message.to === 'all' || (message.to === 'host' && this.host);
        if (!forMe) return;
        if (this.host) this.serve(message, this.host);
        else this.listen(message);
    }

    private serve(message: Envelope, host: EngineHost): void {
        const { from } = message;
        if (message.type === 'hello' || message.type === 'ping') {
            this.post({ to: from, type: 'state', state: host.state.value });
        } else if (message.type === 'abort') {
            this.served.get(`${from} ${message.call}`)?.abort();
        } else if (message.type === 'call') {
            void this.serveCall(from, message.call, message.method, message.args, host);
        }
    }

    private async serveCall(to: string, call: string, method: Method, args: unknown, host: EngineHost): Promise<void> {
        const key = `${to} ${call}`;
        if (this.served.has(key)) return; // asked twice, as after a change of hosts
        const stop = new AbortController();
        this.served.set(key, stop);
        const emit = (event: unknown) => this.post({ to, type: 'event', call, event });
        try {
            const result: unknown = await host.handle(method, args as never, emit as never, stop.signal);
            this.post({ to, type: 'result', call, result });
        } catch (error) {
            this.post({ to, type: 'error', call, error: describe(error) });
        } finally {
            this.served.delete(key);
        }
    }

    private listen(message: Envelope): void {
        this.heardAt = performance.now();
        if (message.type === 'state') {
            const moved = this.hostTab !== undefined && this.hostTab !== message.from;
            this.hostTab = message.from;
            this.state.set(message.state);
            if (moved) this.resend();
            return;
        }
        if (!('call' in message)) return;
        const pending = this.pending.get(message.call);
        if (message.type === 'event') pending?.onEvent(message.event);
        else if (message.type === 'result') pending?.resolve(message.result);
        else if (message.type === 'error') pending?.reject(revive(message.error));
    }

    private post(message: Message): void {
        this.channel?.postMessage({ ...message, from: this.tab });
    }
}

function describe(error: unknown): CallError {
    if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
    const { code } = error as { code?: unknown };
    const { name, message } = error;
    return typeof code === 'string' ? { name, message, code } : { name, message };
}

function revive({ name, message, code }: CallError): Error {
    return Object.assign(new Error(message), code === undefined ? { name } : { name, code });
}
