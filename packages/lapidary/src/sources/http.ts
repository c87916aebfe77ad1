// A model behind a URL, read by HTTP ranges. Networks fail in many ways; every one of them ends in bytes or in a
// sentence, never in a hang and never in wrong bytes.
import { LapidaryError, cancelledError, messageOf, throwIfCancelled } from '../error.js';
import { openAll, shardUrls } from './shards.js';
import { checkRange, type ByteSource } from './source.js';

export interface HttpOptions {
    /** Give up on a connection when nothing arrived for this long. */
    timeoutMs?: number;
    /** How often one read may be taken up again after a failure that may pass. */
    retries?: number;
    /** Pause before the first retry; it doubles each time. */
    retryDelayMs?: number;
    headers?: Record<string, string>;
    signal?: AbortSignal;
}

/** A failure that may pass: worth another attempt, unlike a 404 or a file that changed. */
export class Passing extends Error {}

interface ContentRange {
    first: number;
    last: number;
    total: number;
}

/** What tells one version of a file from another. */
interface Version {
    total: number;
    etag: string | null;
    modified: string | null;
}

interface Answer {
    response: Response;
    /** Bytes it will bring. */
    promised: number;
}

/** Bytes on their way in. `filled` survives a broken connection: the next attempt goes on from there. */
interface Target {
    bytes: Uint8Array;
    filled: number;
}

export class HttpSource implements ByteSource {
    readonly name: string;
    private version: Version = { total: 0, etag: null, modified: null };
    private readonly shown: string;
    private readonly timeoutMs: number;
    private readonly retries: number;
    private readonly retryDelayMs: number;
    private readonly headers: Record<string, string>;
    private readonly closing = new AbortController();

    private constructor(
        private readonly url: URL,
        options: HttpOptions,
    ) {
        this.timeoutMs = options.timeoutMs ?? 30_000;
        this.retries = options.retries ?? 3;
        this.retryDelayMs = options.retryDelayMs ?? 500;
        this.headers = options.headers ?? {};
        // Queries often carry signatures: they have no place in a message.
        this.shown = `${url.origin}${url.pathname}`;
        this.name = lastSegment(url);
    }

    /** Asks for one byte: the answer's Content-Range tells the size, and that ranges work at all. */
    static async open(address: string | URL, options: HttpOptions = {}): Promise<HttpSource> {
        const source = new HttpSource(parseHttpUrl(address), options);
        await source.persist(options.signal, async (attempt) => {
            const response = await source.request(0, 0, attempt);
            if (response.status === 416 && response.headers.get('content-range') === 'bytes */0') {
                discard(response);
                return true; // an empty file has no first byte to send
            }
            const range = source.checkStatus(response);
            if (range.first !== 0 || range.last !== 0) throw source.wrongRange(response, 0, 0);
            await source.receive(response, { bytes: new Uint8Array(1), filled: 0 }, 1, attempt);
            source.version = { total: range.total, ...versionHeaders(response) };
            return true;
        });
        return source;
    }

    get size(): number {
        return this.version.total;
    }

    async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
        checkRange(this, offset, length);
        const target: Target = { bytes: new Uint8Array(length), filled: 0 };
        if (length === 0) return target.bytes;
        await this.persist(signal, async (attempt) => {
            const { response, promised } = await this.ask(offset + target.filled, offset + length - 1, attempt);
            await this.receive(response, target, promised, attempt);
            return target.filled === length;
        });
        return target.bytes;
    }

    /** Without its query, which often carries a signature. */
    get address(): string {
        return this.shown;
    }

    get etag(): string | null {
        return this.version.etag;
    }

    get modified(): string | null {
        return this.version.modified;
    }

    /**
     * The same bytes as `read` on one connection, handed over as they arrive, for those who put them away and can go
     * on from there. It may end early, and nothing is tried again: a failure that may pass is thrown as Passing.
     */
    async *stream(offset: number, length: number, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
        checkRange(this, offset, length);
        if (length === 0) return;
        const stops = signal ? [signal, this.closing.signal] : [this.closing.signal];
        stops.forEach(throwIfCancelled);
        const attempt = new Attempt(this.timeoutMs, stops);
        try {
            const { response, promised } = await this.ask(offset, offset + length - 1, attempt);
            yield* this.body(response, promised, attempt);
        } catch (error) {
            stops.forEach(throwIfCancelled);
            if (error instanceof LapidaryError || error instanceof Passing) throw error;
            throw new Passing(attempt.timedOut ? this.silence() : describe(error), { cause: error });
        } finally {
            attempt.end();
        }
    }

    /** Reads under way are stopped. */
    async close(): Promise<void> {
        this.closing.abort();
    }

    /**
     * Runs `step` until it says that it is done. A step that fails in passing, or ends without being done, is
     * tried again, but only so often: a server that trickles one byte a connection must not keep us for ever.
     */
    private async persist(signal: AbortSignal | undefined, step: (attempt: Attempt) => Promise<boolean>): Promise<void> {
        const stops = signal ? [signal, this.closing.signal] : [this.closing.signal];
        let reason = 'the server sends too little at a time';
        for (let tries = 0; tries <= this.retries; tries++) {
            if (tries > 0) await pause(this.retryDelayMs * 2 ** (tries - 1), stops);
            stops.forEach(throwIfCancelled);
            const attempt = new Attempt(this.timeoutMs, stops);
            try {
                if (await step(attempt)) return;
            } catch (error) {
                stops.forEach(throwIfCancelled);
                if (error instanceof LapidaryError) throw error;
                reason = attempt.timedOut ? this.silence() : describe(error);
            } finally {
                attempt.end();
            }
        }
        throw new LapidaryError('io', `${this.shown} could not be read: ${reason} (tried ${this.retries + 1} times)`);
    }

    /** An answer that is known to be about our file and the bytes from `first` on: `promised` many of them. */
    private async ask(first: number, last: number, attempt: Attempt): Promise<Answer> {
        const response = await this.request(first, last, attempt);
        const range = this.checkStatus(response);
        this.checkSameVersion(response, range);
        // A server may send less than was asked for, but it must start where we asked and not go beyond.
        if (range.first !== first || range.last > last) throw this.wrongRange(response, first, last);
        return { response, promised: range.last - range.first + 1 };
    }

    private async request(first: number, last: number, attempt: Attempt): Promise<Response> {
        return await fetch(this.url, {
            // Compression on the way would make the byte positions meaningless.
            headers: { ...this.headers, range: `bytes=${first}-${last}`, 'accept-encoding': 'identity' },
            signal: attempt.signal,
            cache: 'no-store',
        });
    }

    private checkStatus(response: Response): ContentRange {
        const { status } = response;
        if (status === 206) {
            const range = parseContentRange(response.headers.get('content-range'));
            if (range && !isEncoded(response)) return range;
            discard(response);
            throw new LapidaryError(
                'io',
                range
                    ? `${this.shown} is sent compressed, so that its ranges cannot be used`
                    : `${this.shown} does not say which range it sends or how large the file is (Content-Range)`,
            );
        }
        discard(response);
        if (status === 200) {
            throw new LapidaryError(
                'io',
                `the server of ${this.shown} ignores range requests; download the file and open it from disk`,
            );
        }
        if (status === 404 || status === 410) {
            throw new LapidaryError('not_found', `there is no file at ${this.shown} (HTTP ${status})`);
        }
        if (status === 401 || status === 403) {
            throw new LapidaryError('io', `${this.shown} may not be read without permission (HTTP ${status})`);
        }
        if (status === 408 || status === 429 || status >= 500) throw new Passing(`the server answers HTTP ${status}`);
        if (status === 416 && this.version.total > 0) {
            throw new LapidaryError('io', `${this.shown} became shorter on the server while it was read`);
        }
        throw new LapidaryError('io', `${this.shown} could not be read: the server answers HTTP ${status}`);
    }

    private checkSameVersion(response: Response, range: ContentRange): void {
        const now = versionHeaders(response);
        const { total, etag, modified } = this.version;
        const otherEtag = etag !== null && now.etag !== null && etag !== now.etag;
        // Mirrors of one file may have their own dates, so these count only where there is nothing better.
        const otherDate = etag === null && modified !== null && now.modified !== null && modified !== now.modified;
        if (range.total === total && !otherEtag && !otherDate) return;
        discard(response);
        const how = range.total === total ? '' : ` from ${total} to ${range.total} bytes`;
        throw new LapidaryError('io', `${this.shown} changed${how} on the server while it was read; open it again`);
    }

    private wrongRange(response: Response, first: number, last: number): LapidaryError {
        discard(response);
        const got = response.headers.get('content-range');
        return new LapidaryError('io', `the server of ${this.shown} was asked for bytes ${first}-${last} and sent ${got}`);
    }

    private silence(): string {
        return `nothing arrived for ${this.timeoutMs / 1000} s`;
    }

    /** Appends the body, which must be `promised` bytes long, to the target. */
    private async receive(response: Response, target: Target, promised: number, attempt: Attempt): Promise<void> {
        for await (const piece of this.body(response, promised, attempt)) {
            target.bytes.set(piece, target.filled);
            target.filled += piece.length;
        }
    }

    /** The body piece by piece; it must be `promised` bytes long. */
    private async *body(response: Response, promised: number, attempt: Attempt): AsyncGenerator<Uint8Array> {
        const reader = response.body?.getReader();
        let left = promised;
        try {
            while (reader) {
                const { done, value } = await reader.read();
                if (done) break;
                attempt.heard();
                left -= value.length;
                if (left < 0) {
                    throw new LapidaryError('io', `the server of ${this.shown} sends more bytes than it announced`);
                }
                yield value;
            }
        } finally {
            // Not awaited: a connection that hangs may also hang in its farewell.
            reader?.cancel().catch(() => undefined);
        }
        if (left > 0) throw new Passing('the connection ended before everything had arrived');
    }
}

/** Opens the URL, and, when it names the first piece of a split model, all the pieces. */
export async function openHttp(address: string | URL, options: HttpOptions = {}): Promise<HttpSource[]> {
    return await openAll(shardUrls(parseHttpUrl(address)), (url) => HttpSource.open(url, options));
}

/** One connection: ends when the caller stops, the source closes, or nothing was heard for too long. */
class Attempt {
    timedOut = false;
    private readonly controller = new AbortController();
    private readonly stop = () => this.controller.abort();
    private timer: ReturnType<typeof setTimeout>;

    constructor(
        private readonly timeoutMs: number,
        private readonly stops: readonly AbortSignal[],
    ) {
        for (const signal of stops) signal.addEventListener('abort', this.stop);
        this.timer = this.startTimer();
    }

    get signal(): AbortSignal {
        return this.controller.signal;
    }

    heard(): void {
        clearTimeout(this.timer);
        this.timer = this.startTimer();
    }

    end(): void {
        clearTimeout(this.timer);
        for (const signal of this.stops) signal.removeEventListener('abort', this.stop);
    }

    private startTimer(): ReturnType<typeof setTimeout> {
        return setTimeout(() => {
            this.timedOut = true;
            this.controller.abort();
        }, this.timeoutMs);
    }
}

export function parseHttpUrl(address: string | URL): URL {
    let url: URL;
    try {
        url = new URL(address);
    } catch (cause) {
        throw new LapidaryError('invalid_argument', `'${String(address)}' is not a URL`, { cause });
    }
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        throw new LapidaryError('invalid_argument', `'${url.protocol}' addresses cannot be read, only http: and https:`);
    }
    if (url.username !== '' || url.password !== '') {
        throw new LapidaryError('invalid_argument', `a URL with a user name or password in it is not supported`);
    }
    return url;
}

/** For people. */
export function lastSegment(url: URL): string {
    const segment = url.pathname.split('/').pop() ?? '';
    try {
        return decodeURIComponent(segment) || url.host;
    } catch {
        return segment; // a stray '%' is no reason to refuse the file
    }
}

/** "bytes 0-99/1234"; null for anything else, also for an unknown total. */
function parseContentRange(text: string | null): ContentRange | null {
    const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(text?.trim() ?? '');
    if (!match) return null;
    const [first = NaN, last = NaN, total = NaN] = match.slice(1).map(Number);
    const valid = Number.isSafeInteger(total) && first <= last && last < total;
    return valid ? { first, last, total } : null;
}

function versionHeaders(response: Response): { etag: string | null; modified: string | null } {
    const etag = response.headers.get('etag');
    // Weak tags may differ between two copies of the same bytes.
    return {
        etag: etag?.startsWith('W/') ? null : etag,
        modified: response.headers.get('last-modified'),
    };
}

function isEncoded(response: Response): boolean {
    const encoding = response.headers.get('content-encoding');
    return encoding !== null && encoding !== '' && encoding !== 'identity';
}

function discard(response: Response): void {
    response.body?.cancel().catch(() => undefined);
}

/** Node's fetch hides what happened in `cause`; browsers do not tell at all. */
function describe(error: unknown): string {
    if (error instanceof Passing) return error.message;
    const cause = error instanceof Error ? error.cause : undefined;
    const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : undefined;
    const known: Record<string, string> = {
        ECONNREFUSED: 'the server refuses the connection',
        ENOTFOUND: 'the name of the server is not known',
        EAI_AGAIN: 'the name of the server could not be looked up',
        ECONNRESET: 'the connection broke off',
        UND_ERR_SOCKET: 'the connection broke off',
    };
    if (code !== undefined) return known[code] ?? `the connection failed (${code})`;
    return `the server cannot be reached (${messageOf(cause ?? error)})`;
}

async function pause(milliseconds: number, stops: readonly AbortSignal[]): Promise<void> {
    await new Promise<void>((resolve, reject) => {
        const finish = (settle: () => void) => {
            clearTimeout(timer);
            for (const signal of stops) signal.removeEventListener('abort', stop);
            settle();
        };
        const stop = () => finish(() => reject(cancelledError()));
        const timer = setTimeout(() => finish(resolve), milliseconds);
        for (const signal of stops) signal.addEventListener('abort', stop);
    });
}
