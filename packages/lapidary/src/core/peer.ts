// The messages between a page and its worker, for both ends. Either may call the other: a call has a number, may emit
// events, may be stopped, and ends with a result or an error.
import { LapidaryError, cancelledError, isErrorCode, messageOf, type ErrorCode } from '../error.js';

/** What a Worker, a MessagePort and a worker's global scope have in common. */
export interface Port {
    postMessage(message: unknown, transfer: Transferable[]): void;
    addEventListener(type: 'message', listener: (event: MessageEvent) => void): void;
}

export interface Handling {
    signal: AbortSignal;
    emit(event: unknown): void;
}

export type Handler = (args: never, handling: Handling) => Promise<unknown>;

export interface PeerCallOptions {
    signal?: AbortSignal | undefined;
    onEvent?: ((event: never) => void) | undefined;
}

type PeerMessage =
    | { kind: 'call'; id: number; method: string; args: unknown }
    | { kind: 'abort'; id: number }
    | { kind: 'event'; id: number; event: unknown }
    | { kind: 'result'; id: number; value: unknown }
    | { kind: 'error'; id: number; code: ErrorCode; message: string };

interface Pending {
    resolve(value: unknown): void;
    reject(error: unknown): void;
    onEvent: ((event: never) => void) | undefined;
}

/** A result whose buffers should move instead of being copied. */
export class Moved {
    constructor(
        readonly value: unknown,
        readonly transfer: Transferable[],
    ) {}
}

export class Peer {
    private readonly pending = new Map<number, Pending>();
    private readonly handling = new Map<number, AbortController>();
    private last = 0;
    private closed: LapidaryError | undefined;

    constructor(
        private readonly port: Port,
        private readonly handlers: Readonly<Record<string, Handler>>,
    ) {
        port.addEventListener('message', ({ data }) => this.receive(data as PeerMessage));
    }

    /** The caller knows what the method answers. */
    async call<Result>(method: string, args: unknown, { signal, onEvent }: PeerCallOptions = {}): Promise<Result> {
        if (this.closed) throw this.closed;
        if (signal?.aborted) throw cancelledError();
        const id = ++this.last;
        const abort = () => this.post({ kind: 'abort', id });
        try {
            return await new Promise<Result>((resolve, reject) => {
                this.pending.set(id, { resolve: resolve as (value: unknown) => void, reject, onEvent });
                try {
                    this.post({ kind: 'call', id, method, args });
                } catch (cause) {
                    const why = `the request has something in it that cannot be sent to the worker: ${messageOf(cause)}`;
                    return reject(new LapidaryError('invalid_argument', why, { cause }));
                }
                signal?.addEventListener('abort', abort);
            });
        } finally {
            this.pending.delete(id);
            signal?.removeEventListener('abort', abort);
        }
    }

    /** Nobody is there any more: who waits is told, what is under way is stopped. */
    close(error: LapidaryError): void {
        if (this.closed) return;
        this.closed = error;
        for (const { reject } of this.pending.values()) reject(error);
        for (const stop of this.handling.values()) stop.abort();
    }

    private receive(message: PeerMessage): void {
        const { kind, id } = message;
        if (kind === 'call') void this.handle(id, message.method, message.args);
        else if (kind === 'abort') this.handling.get(id)?.abort();
        else if (kind === 'event') this.deliver(id, message.event);
        else if (kind === 'result') this.pending.get(id)?.resolve(message.value);
        else if (kind === 'error') this.pending.get(id)?.reject(new LapidaryError(message.code, message.message));
    }

    private deliver(id: number, event: unknown): void {
        const pending = this.pending.get(id);
        try {
            pending?.onEvent?.(event as never); // both ends are of one version
        } catch (error) {
            // The listener's own error is what the caller should see; the work behind it is of no use any more.
            pending?.reject(error);
            this.post({ kind: 'abort', id });
        }
    }

    private async handle(id: number, method: string, args: unknown): Promise<void> {
        const stop = new AbortController();
        this.handling.set(id, stop);
        try {
            const handler = this.handlers[method];
            if (!handler) throw new LapidaryError('internal', `nobody answers '${method}'`);
            const emit = (event: unknown) => this.post({ kind: 'event', id, event });
            const value = await handler(args as never, { signal: stop.signal, emit });
            if (value instanceof Moved) this.post({ kind: 'result', id, value: value.value }, value.transfer);
            else this.post({ kind: 'result', id, value });
        } catch (error) {
            const code = error instanceof LapidaryError && isErrorCode(error.code) ? error.code : 'internal';
            this.post({ kind: 'error', id, code, message: messageOf(error) });
        } finally {
            this.handling.delete(id);
        }
    }

    private post(message: PeerMessage, transfer: Transferable[] = []): void {
        if (!this.closed) this.port.postMessage(message, transfer);
    }
}
