// Where messages of an Rpc go through. A port gives each message once and in order, or is closed.

export interface Port {
    post(message: unknown, transfer?: Transferable[]): void;
    /** Once. */
    listen(receive: (message: unknown) => void): void;
}

/** What a Worker, a MessagePort and a worker's global scope have in common. */
export interface MessageEnd {
    postMessage(message: unknown, transfer: Transferable[]): void;
    addEventListener(type: 'message', listener: (event: MessageEvent) => void): void;
}

/** Of a browser's worker, to it or within it. */
export function workerPort(end: MessageEnd): Port {
    return {
        post: (message, transfer = []) => end.postMessage(message, transfer),
        listen: (receive) => end.addEventListener('message', ({ data }) => receive(data)),
    };
}

/** What a `worker_threads` Worker and its `parentPort` have in common. */
export interface ThreadEnd {
    postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
    on(event: 'message', listener: (message: unknown) => void): unknown;
}

export function threadPort(end: ThreadEnd): Port {
    return {
        post: (message, transfer = []) => end.postMessage(message, transfer as ArrayBuffer[]),
        listen: (receive) => void end.on('message', receive),
    };
}

/** What a child process and, within it, `process` have in common. With `serialization: 'advanced'`, so that bytes stay bytes. */
export interface ProcessEnd {
    send?(message: unknown): boolean;
    on(event: 'message', listener: (message: unknown) => void): unknown;
}

export function processPort(end: ProcessEnd): Port {
    return {
        post: (message) => void end.send?.(message),
        listen: (receive) => void end.on('message', receive),
    };
}

/** One of the conversations on a channel that many listen to: messages from `other` to `own`. Nothing can move between tabs. */
export function channelPort(channel: BroadcastChannel, own: string, other: string): Port {
    return {
        post: (message) => channel.postMessage({ from: own, to: other, message }),
        listen: (receive) =>
            channel.addEventListener('message', ({ data }: MessageEvent<{ from?: unknown; to?: unknown; message?: unknown }>) => {
                if (data.from === other && data.to === own && data.message !== undefined) receive(data.message);
            }),
    };
}

/** Both ends in one thread. What is posted arrives later, as from elsewhere, and is not copied. */
export function loopback(): [Port, Port] {
    const receivers: ((message: unknown) => void)[] = [];
    const end = (own: 0 | 1): Port => ({
        post: (message) => queueMicrotask(() => receivers[1 - own]?.(message)),
        listen: (receive) => (receivers[own] = receive),
    });
    return [end(0), end(1)];
}
