// Calls between threads, tabs and processes. Either side may call: a call has a number, may tell events, may be stopped, and
// ends with a result or an error. A result never overtakes its events.
import { LapidaryError, cancelledError, isErrorCode, messageOf, type ErrorCode, type ErrorDetails } from '../error.js';
import { Moved, type Contract, type Handlers, type Merges } from './contract.js';
import type { Port } from './port.js';

type Message =
    | { rpc: 'call'; id: number; method: string; args: unknown }
    | { rpc: 'stop'; id: number }
    /** So many more events were dealt with. */
    | { rpc: 'taken'; id: number; count: number }
    | { rpc: 'events'; id: number; events: unknown[] }
    | { rpc: 'end'; id: number; result: unknown }
    | { rpc: 'fail'; id: number; code: ErrorCode; message: string; details?: ErrorDetails | undefined };

/** Events that may be on their way. A slow reader holds nobody up: the rest waits with whoever tells. */
const credit = 64;
/** Not for every one: a message for each would double them. */
const tellTaken = 16;

export interface CallOptions<Event> {
    signal?: AbortSignal | undefined;
    /** While its promise is pending the next event waits. */
    onEvent?: ((event: Event) => unknown) | undefined;
    transfer?: Transferable[];
}

type AnyMerge = (before: unknown, after: unknown) => unknown;
type AnyHandler = (args: unknown, handling: { signal: AbortSignal; emit(event: unknown): void; room(): Promise<void> }) => Promise<unknown>;

export class Rpc<Theirs extends Contract<Theirs>, Ours extends Contract<Ours> = Record<never, never>> {
    private readonly asked = new Map<number, Asked>();
    private readonly handling = new Map<number, Telling>();
    private last = 0;
    private closed: LapidaryError | undefined;

    constructor(
        private readonly port: Port,
        private readonly handlers: Handlers<Ours>,
        private readonly merges: Merges<Ours> = {},
    ) {
        port.listen((message) => this.receive(message as Message));
    }

    async call<M extends keyof Theirs & string>(
        method: M,
        args: Theirs[M]['args'],
        { signal, onEvent, transfer }: CallOptions<Theirs[M]['event']> = {},
    ): Promise<Theirs[M]['result']> {
        if (this.closed) throw this.closed;
        if (signal?.aborted) throw cancelledError();
        const id = ++this.last;
        const stop = () => this.post({ rpc: 'stop', id });
        try {
            return (await new Promise<unknown>((resolve, reject) => {
                const taken = (count: number) => this.post({ rpc: 'taken', id, count });
                this.asked.set(id, new Asked(resolve, reject, onEvent as ((event: unknown) => unknown) | undefined, taken, stop));
                try {
                    this.post({ rpc: 'call', id, method, args }, transfer);
                } catch (cause) {
                    const why = `the request has something in it that cannot be sent to the engine: ${messageOf(cause)}`;
                    return reject(new LapidaryError('invalid_argument', why, { cause }));
                }
                signal?.addEventListener('abort', stop);
            })) as Theirs[M]['result']; // the contract is of one version on both sides
        } finally {
            this.asked.delete(id);
            signal?.removeEventListener('abort', stop);
        }
    }

    /** Nobody is there any more: who waits is told, what is under way is stopped. */
    close(error: LapidaryError): void {
        if (this.closed) return;
        this.closed = error;
        for (const { reject } of this.asked.values()) reject(error);
        for (const telling of this.handling.values()) telling.close();
    }

    private receive(message: Message): void {
        const { rpc, id } = message;
        if (rpc === 'call') void this.handle(id, message.method, message.args);
        else if (rpc === 'stop') this.handling.get(id)?.stop.abort();
        else if (rpc === 'taken') this.handling.get(id)?.taken(message.count);
        else if (rpc === 'events') {
            const asked = this.asked.get(id);
            // Of a call whose caller has given up they count as taken, or who tells them would wait.
            if (asked) asked.take(message.events);
            else this.post({ rpc: 'taken', id, count: message.events.length });
        }
        else if (rpc === 'end') this.asked.get(id)?.end(() => this.asked.get(id)?.resolve(message.result));
        else if (rpc === 'fail') {
            const { code, message: sentence, details } = message;
            this.asked.get(id)?.end(() => this.asked.get(id)?.reject(new LapidaryError(code, sentence, details ? { details } : {})));
        }
    }

    private async handle(id: number, method: string, args: unknown): Promise<void> {
        const merge = (this.merges as Record<string, AnyMerge | undefined>)[method];
        const telling = new Telling((events) => this.post({ rpc: 'events', id, events }), merge);
        this.handling.set(id, telling);
        try {
            const handler = (this.handlers as Record<string, AnyHandler | undefined>)[method];
            if (!handler) throw new LapidaryError('internal', `nobody answers '${method}'`);
            const value = await handler(args, {
                signal: telling.stop.signal,
                emit: (event) => telling.emit(event),
                room: async () => await telling.room(),
            });
            await telling.told();
            if (value instanceof Moved) this.post({ rpc: 'end', id, result: value.value }, value.transfer);
            else this.post({ rpc: 'end', id, result: value });
        } catch (error) {
            await telling.told();
            const known = error instanceof LapidaryError && isErrorCode(error.code);
            this.post({
                rpc: 'fail',
                id,
                code: known ? error.code : isAbort(error) ? 'cancelled' : 'internal',
                message: messageOf(error),
                ...(known && error.details ? { details: error.details } : {}),
            });
        } finally {
            this.handling.delete(id);
        }
    }

    private post(message: Message, transfer?: Transferable[]): void {
        if (!this.closed) this.port.post(message, transfer);
    }
}

/** As browsers throw it. */
function isAbort(error: unknown): boolean {
    return error instanceof Error && error.name === 'AbortError';
}

/** A call that was made: events are given to the caller one after the other. */
class Asked {
    private readonly waiting: unknown[] = [];
    private busy = false;
    private dealtWith = 0;
    private finish: (() => void) | undefined;
    private broken = false;

    constructor(
        readonly resolve: (value: unknown) => void,
        readonly reject: (error: unknown) => void,
        private readonly onEvent: ((event: unknown) => unknown) | undefined,
        private readonly tell: (count: number) => void,
        private readonly stop: () => void,
    ) {}

    take(events: unknown[]): void {
        this.waiting.push(...events);
        if (!this.busy) this.goOn();
    }

    /** When every event was dealt with. */
    end(finish: () => void): void {
        this.finish = finish;
        if (!this.busy) finish();
    }

    /** Without waiting where the caller does not: most events are dealt with in the message that brought them. */
    private goOn(): void {
        this.busy = true;
        while (this.waiting.length > 0) {
            const pending = this.give(this.waiting.shift());
            if (pending) {
                void pending.then(() => this.goOn());
                return;
            }
            this.count();
        }
        this.busy = false;
        this.finish?.();
    }

    private give(event: unknown): Promise<void> | undefined {
        if (this.broken) return undefined;
        try {
            const taken = this.onEvent?.(event);
            if (!(taken instanceof Promise)) return undefined;
            return taken.then(
                () => this.count(),
                (error: unknown) => {
                    this.fail(error);
                    this.count();
                },
            );
        } catch (error) {
            this.fail(error);
            return undefined;
        }
    }

    /** The listener's own error is what the caller should see; the work behind it is of no use any more. */
    private fail(error: unknown): void {
        this.broken = true;
        this.reject(error);
        this.stop();
    }

    private count(): void {
        if (++this.dealtWith < tellTaken) return;
        this.tell(this.dealtWith);
        this.dealtWith = 0;
    }
}

/** A call that is being answered: what may be sent is, and the rest waits. */
class Telling {
    readonly stop = new AbortController();
    private readonly waiting: unknown[] = [];
    private onItsWay = 0;
    private wake: (() => void)[] = [];
    private closed = false;

    constructor(
        private readonly send: (events: unknown[]) => void,
        private readonly merge: AnyMerge | undefined,
    ) {}

    emit(event: unknown): void {
        if (this.closed) return;
        if (this.onItsWay < credit) {
            this.onItsWay++;
            this.send([event]);
            return;
        }
        const last = this.waiting.length - 1;
        const joined = last >= 0 ? this.merge?.(this.waiting[last], event) : undefined;
        if (joined === undefined) this.waiting.push(event);
        else this.waiting[last] = joined;
    }

    taken(count: number): void {
        this.onItsWay -= count;
        const next = this.waiting.splice(0, credit - this.onItsWay);
        if (next.length > 0) {
            this.onItsWay += next.length;
            this.send(next);
        }
        this.wakeAll();
    }

    async room(): Promise<void> {
        while (!this.closed && this.onItsWay + this.waiting.length >= credit) await this.changed();
    }

    /** All that was emitted is on its way. */
    async told(): Promise<void> {
        while (!this.closed && this.waiting.length > 0) await this.changed();
    }

    close(): void {
        this.closed = true;
        this.stop.abort();
        this.wakeAll();
    }

    private changed(): Promise<void> {
        return new Promise((resolve) => this.wake.push(resolve));
    }

    private wakeAll(): void {
        for (const wake of this.wake.splice(0)) wake();
    }
}
