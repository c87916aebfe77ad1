// A model behind a URL, read by HTTP ranges, or as a whole where the server has none. Networks fail in many ways; every
// one of them ends in bytes or in a sentence, never in a hang and never in wrong bytes.
import { LapidaryError, throwIfCancelled } from '../error.js';
import type { Progress } from '../work.js';
import { parseContentRange, type ContentRange } from '../net/ranges.js';
import { Attempt, Passing, pause } from './attempt.js';
import { BlobSource } from './blob.js';
import { follow } from './follow.js';
import { Gathered } from './gathered.js';
import { RefusedError, meantStatus, retryAfter } from './refused.js';
import { openAll, shardUrls } from './shards.js';
import { checkRange, checkSize, type ByteSource } from './source.js';
import { describe, whyForbidden } from './unreachable.js';

export { Passing } from './attempt.js';

export interface HttpOptions {
    /** Give up on a connection when nothing arrived for this long. */
    timeoutMs?: number;
    /** How often one read may be taken up again after a failure that may pass. */
    retries?: number;
    /** Pause before the first retry; it doubles each time. */
    retryDelayMs?: number;
    headers?: Record<string, string>;
    signal?: AbortSignal;
    /** Told while a file is brought that can only be had as a whole. */
    onDownload?: (progress: Progress) => void;
}

/** What tells one version of a file from another. */
interface Version {
    /** Undefined while the server does not say. */
    total: number | undefined;
    etag: string | null;
    modified: string | null;
}

/** Of a file that cannot be read in parts and has no better place than memory. */
const mostHeldBytes = 4 * 1024 ** 3;
const heldPieceBytes = 4 * 1024 * 1024;

interface Answer {
    response: Response;
    /** Bytes it says it brings. */
    announced: number;
    /** Bytes of these that we want, from the first on. */
    wanted: number;
}

/** Bytes on their way in. `filled` survives a broken connection: the next attempt goes on from there. */
interface Target {
    bytes: Uint8Array;
    filled: number;
}

export class HttpSource implements ByteSource {
    readonly name: string;
    private version: Version = { total: undefined, etag: null, modified: null };
    private readonly shown: string;
    private readonly timeoutMs: number;
    private readonly retries: number;
    private readonly retryDelayMs: number;
    private readonly headers: Record<string, string>;
    private readonly closing = new AbortController();

    private readonly onDownload: ((progress: Progress) => void) | undefined;
    private whole: string | undefined;
    private held: Promise<BlobSource> | undefined;
    private answered = false;
    private promised: string | undefined;

    private constructor(
        private readonly url: URL,
        options: HttpOptions,
    ) {
        this.timeoutMs = options.timeoutMs ?? 30_000;
        this.retries = options.retries ?? 3;
        this.retryDelayMs = options.retryDelayMs ?? 500;
        this.headers = options.headers ?? {};
        this.onDownload = options.onDownload;
        // Queries often carry signatures: they have no place in a message.
        this.shown = `${url.origin}${url.pathname}`;
        this.name = lastSegment(url);
    }

    static async open(address: string | URL, options: HttpOptions = {}): Promise<HttpSource> {
        const source = new HttpSource(parseHttpUrl(address), options);
        await source.persist(options.signal, async (attempt) => {
            await source.introduce(attempt);
            return true;
        });
        if (source.version.total === undefined) {
            const { size } = await source.hold(options.signal);
            source.version.total = size;
        }
        return source;
    }

    get size(): number {
        return this.version.total ?? 0;
    }

    /** Why the file can only be read from its beginning to its end, in a sentence; undefined where parts can be had. */
    get note(): string | undefined {
        return this.whole === undefined ? undefined : `${this.whole}, so all of it is downloaded first`;
    }

    async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
        checkRange(this, offset, length);
        if (length === 0) return new Uint8Array(0);
        if (this.whole !== undefined) return await (await this.hold(signal)).read(offset, length, signal);
        const target: Target = { bytes: new Uint8Array(length), filled: 0 };
        await this.persist(signal, async (attempt) => {
            const answer = await this.ask(offset + target.filled, offset + length - 1, attempt);
            await this.receive(answer, target, attempt);
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

    /** The SHA-256 that a server on the way promised (Hugging Face does); undefined where none did, and in browsers. */
    get promisedSha256(): string | undefined {
        return this.promised;
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
        if (this.whole !== undefined && this.held) return yield* pieces(await this.held, offset, length, signal);
        const attempt = new Attempt(this.timeoutMs, stops);
        try {
            if (this.whole === undefined) {
                yield* this.body(await this.ask(offset, offset + length - 1, attempt), attempt);
            } else {
                yield* after(offset, this.body(await this.askForAll(offset + length, attempt), attempt));
            }
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
        let cause: unknown;
        for (let tries = 0; tries <= this.retries; tries++) {
            // A server that asks for a pause gets it, but nobody waits here for longer than for a silent one.
            const asked = cause instanceof Passing ? (cause.waitSeconds ?? 0) : 0;
            const wait = Math.max(this.retryDelayMs * 2 ** (tries - 1), Math.min(asked * 1000, this.timeoutMs));
            if (tries > 0) await pause(wait, stops);
            stops.forEach(throwIfCancelled);
            const attempt = new Attempt(this.timeoutMs, stops);
            try {
                if (await step(attempt)) return;
            } catch (error) {
                stops.forEach(throwIfCancelled);
                if (error instanceof LapidaryError) throw error;
                reason = attempt.timedOut ? this.silence() : describe(error);
                cause = error instanceof Passing ? error : new Passing(reason, { cause: error });
                // A first failure may be chance; after the second a page asks itself whether it will ever be let in.
                const forbidden = tries > 0 && !this.answered ? await whyForbidden(this.url) : undefined;
                if (forbidden !== undefined) throw new LapidaryError('io', `${this.shown} could not be read: ${forbidden}`);
            } finally {
                attempt.end();
            }
        }
        const sentence = `${this.shown} could not be read: ${reason} (tried ${this.retries + 1} times)`;
        throw new LapidaryError('io', sentence, { cause });
    }

    /**
     * Asks for two bytes: the answer tells the size, and whether parts can be had at all. Two, because some servers
     * take the second 0 of `0-0` for no end and send everything.
     */
    private async introduce(attempt: Attempt): Promise<void> {
        let response = await this.request({ first: 0, last: 1 }, attempt);
        if (response.status === 416 && response.headers.get('content-range') === 'bytes */0') {
            discard(response);
            this.version.total = 0; // an empty file has no first byte to send
            return;
        }
        const range = response.status === 206 ? parseContentRange(response.headers.get('content-range')) : null;
        const nameless = response.status === 206 && !range;
        if (nameless) {
            discard(response); // nobody knows of which part it is, but all of it may still be had
            response = await this.request(undefined, attempt);
        }
        if (response.status !== 200 && !range) throw this.refusal(response);
        if (range && range.first !== 0) throw this.wrongRange(response, 0, 1);
        const encoded = isEncoded(response);
        const total = encoded ? undefined : (range?.total ?? contentLength(response));
        const announced = encoded ? Infinity : range ? range.last + 1 : (total ?? Infinity);
        const start: Target = { bytes: new Uint8Array(2), filled: 0 };
        await this.receive({ response, announced, wanted: Math.min(2, announced) }, start, attempt);
        if (looksLikePage(response, start.bytes.subarray(0, start.filled))) {
            throw new LapidaryError(
                'not_found',
                `there is no model at ${this.shown}: the server answers with a web page, as many do for addresses they do not know`,
            );
        }
        if (total !== undefined) checkSize(this.shown, total);
        this.version = { total, ...versionHeaders(response) };
        this.whole = this.whyWhole(range, nameless, encoded);
    }

    private whyWhole(range: ContentRange | null, nameless: boolean, encoded: boolean): string | undefined {
        if (encoded) return `${this.shown} is sent compressed and cannot be read in parts`;
        if (nameless) return `the server of ${this.shown} does not let its Content-Range be read`;
        if (!range) return `the server of ${this.shown} does not send parts of a file`;
        const everything = range.total > 2 && range.last === range.total - 1;
        return everything ? `the server of ${this.shown} sends the whole file whatever part is asked for` : undefined;
    }

    /** An answer that is known to be about our file and the bytes from `first` on, perhaps not up to the last. */
    private async ask(first: number, last: number, attempt: Attempt): Promise<Answer> {
        const response = await this.request({ first, last }, attempt);
        if (response.status !== 206) throw this.refusal(response);
        const range = parseContentRange(response.headers.get('content-range'));
        if (!range || isEncoded(response)) {
            discard(response);
            throw new LapidaryError(
                'io',
                range
                    ? `${this.shown} is sent compressed, so that its ranges cannot be used`
                    : `${this.shown} does not say which range it sends or how large the file is (Content-Range)`,
            );
        }
        this.checkSameVersion(response, range.total);
        // A server may send less than was asked for, or more, but it must start where we asked.
        if (range.first !== first) throw this.wrongRange(response, first, last);
        const announced = range.last - range.first + 1;
        return { response, announced, wanted: Math.min(announced, last - first + 1) };
    }

    /** The file from its beginning, of which `wanted` bytes are read. */
    private async askForAll(wanted: number, attempt: Attempt): Promise<Answer> {
        const response = await this.request(undefined, attempt);
        if (response.status !== 200) throw this.refusal(response);
        const total = isEncoded(response) ? undefined : contentLength(response);
        this.checkSameVersion(response, total);
        return { response, announced: total ?? this.version.total ?? Infinity, wanted };
    }

    /** The whole file, for those who read here and there. Brought once; what arrived before a failure is skipped. */
    private async hold(signal: AbortSignal | undefined): Promise<BlobSource> {
        this.held ??= this.bring(signal).catch((error: unknown) => {
            this.held = undefined;
            throw error;
        });
        return await this.held;
    }

    private async bring(signal: AbortSignal | undefined): Promise<BlobSource> {
        const { total = 0 } = this.version;
        if (total > mostHeldBytes) throw this.tooLargeToHold();
        let gathered = new Gathered();
        const { note } = this;
        const tell = () => this.onDownload?.({ done: gathered.size, total, note });
        tell();
        await this.persist(signal, async (attempt) => {
            // Where nothing tells one version from another, what came before may be of another one.
            if (!this.hasVersion) gathered = new Gathered();
            const answer = await this.askForAll(this.version.total ?? Infinity, attempt);
            for await (const piece of after(gathered.size, this.body(answer, attempt))) {
                gathered.add(piece);
                if (gathered.size > mostHeldBytes) throw this.tooLargeToHold();
                tell();
            }
            return true;
        });
        return new BlobSource(gathered.blob(), this.name);
    }

    private tooLargeToHold(): LapidaryError {
        const most = `${mostHeldBytes / 1024 ** 3} GiB`;
        return new LapidaryError(
            'out_of_memory',
            `${this.whole}, and it is larger than the ${most} that are held in memory; download it and open it from disk`,
        );
    }

    private async request(range: { first: number; last: number } | undefined, attempt: Attempt): Promise<Response> {
        const version = this.etag ?? this.modified;
        const { response, passed } = await follow(this.url, {
            headers: this.headers,
            always: {
                ...(range && { range: `bytes=${range.first}-${range.last}` }),
                ...(range && version !== null && this.mayAskIfRange && { 'if-range': version }),
                // Compression on the way would make the byte positions meaningless.
                'accept-encoding': 'identity',
            },
            signal: attempt.signal,
        });
        this.answered = true;
        this.promised ??= passed.map(promisedDigest).find((digest) => digest !== undefined);
        return response;
    }

    /**
     * Another origin's server would have to allow this header in an answer to a question of its own (a preflight), and
     * few do; from those the answer's own headers have to do.
     */
    private get mayAskIfRange(): boolean {
        return typeof location !== 'object' || location.origin === this.url.origin;
    }

    /** Whether the server tells one version of the file from another. */
    private get hasVersion(): boolean {
        return this.etag !== null || this.modified !== null;
    }

    /** What an answer means that has nothing of the file in it. */
    private refusal(response: Response): Error {
        const status = meantStatus(response);
        discard(response);
        if (status === 200 && this.whole === undefined && this.hasVersion && this.mayAskIfRange) return this.changed('');
        if (status === 404 || status === 410) {
            return new RefusedError('not_found', `there is no file at ${this.shown} (HTTP ${status})`, status);
        }
        if (status === 401 || status === 403) {
            return new RefusedError('io', `${this.shown} may not be read without permission (HTTP ${status})`, status);
        }
        if (status === 408 || status === 429 || status >= 500) {
            return new Passing(`the server answers HTTP ${status}`, undefined, retryAfter(response.headers));
        }
        if (status === 416 && this.size > 0) {
            return new LapidaryError('io', `${this.shown} became shorter on the server while it was read`);
        }
        if (status === 200 || status === 206) {
            return new LapidaryError('io', `the server of ${this.shown} sends parts of the file at one time and all of it at another`);
        }
        return new LapidaryError('io', `${this.shown} could not be read: the server answers HTTP ${status}`);
    }

    private checkSameVersion(response: Response, length: number | undefined): void {
        const now = versionHeaders(response);
        const { total, etag, modified } = this.version;
        const otherEtag = etag !== null && now.etag !== null && etag !== now.etag;
        // Mirrors of one file may have their own dates, so these count only where there is nothing better.
        const noEtags = etag === null || now.etag === null;
        const otherDate = noEtags && modified !== null && now.modified !== null && modified !== now.modified;
        const otherLength = length !== undefined && total !== undefined && length !== total;
        if (!otherLength && !otherEtag && !otherDate) return;
        discard(response);
        throw this.changed(otherLength ? ` from ${total} to ${length} bytes` : '');
    }

    private changed(how: string): LapidaryError {
        return new LapidaryError('io', `${this.shown} changed${how} on the server while it was read; open it again`);
    }

    private wrongRange(response: Response, first: number, last: number): LapidaryError {
        discard(response);
        const got = response.headers.get('content-range');
        return new LapidaryError('io', `the server of ${this.shown} was asked for bytes ${first}-${last} and sent ${got}`);
    }

    private silence(): string {
        return `nothing arrived for ${this.timeoutMs / 1000} s`;
    }

    private async receive(answer: Answer, target: Target, attempt: Attempt): Promise<void> {
        for await (const piece of this.body(answer, attempt)) {
            target.bytes.set(piece, target.filled);
            target.filled += piece.length;
        }
    }

    /** What is wanted of the body, piece by piece. */
    private async *body({ response, announced, wanted }: Answer, attempt: Attempt): AsyncGenerator<Uint8Array> {
        const reader = response.body?.getReader();
        let arrived = 0;
        try {
            // Where all of it is wanted the end is waited for, since only that tells that there is no more than announced.
            while (reader && (arrived < wanted || wanted === announced)) {
                const { done, value } = await reader.read();
                if (done) break;
                attempt.heard();
                const left = wanted - arrived;
                arrived += value.length;
                if (arrived > announced) {
                    throw new LapidaryError('io', `the server of ${this.shown} sends more bytes than it announced`);
                }
                yield value.length > left ? value.subarray(0, left) : value;
            }
        } finally {
            // Not awaited: a connection that hangs may also hang in its farewell.
            reader?.cancel().catch(() => undefined);
        }
        if (arrived < wanted && announced !== Infinity) {
            throw new Passing('the connection ended before everything had arrived');
        }
    }
}

/** Without the first `count` bytes. */
async function* after(count: number, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let left = count;
    for await (const piece of pieces) {
        if (piece.length > left) yield left === 0 ? piece : piece.subarray(left);
        left = Math.max(0, left - piece.length);
    }
}

async function* pieces(
    source: ByteSource,
    offset: number,
    length: number,
    signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
    for (let at = offset; at < offset + length; at += heldPieceBytes) {
        yield await source.read(at, Math.min(heldPieceBytes, offset + length - at), signal);
    }
}

/** Opens the URL, and, when it names the first piece of a split model, all the pieces. */
export async function openHttp(address: string | URL, options: HttpOptions = {}): Promise<HttpSource[]> {
    return await openAll(shardUrls(parseHttpUrl(address)), (url) => HttpSource.open(url, options));
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

function versionHeaders(response: Response): { etag: string | null; modified: string | null } {
    const etag = response.headers.get('etag');
    // Weak tags may differ between two copies of the same bytes.
    return {
        etag: etag?.startsWith('W/') ? null : etag,
        modified: response.headers.get('last-modified'),
    };
}

function contentLength(response: Response): number | undefined {
    const text = response.headers.get('content-length') ?? '';
    const length = /^\d+$/.test(text) ? Number(text) : NaN;
    return Number.isSafeInteger(length) ? length : undefined;
}

/** By its type and by how it begins: there are servers that call everything text/html. */
function looksLikePage(response: Response, start: Uint8Array): boolean {
    const isHtml = /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(response.headers.get('content-type') ?? '');
    return isHtml && /^$|^[<\s\uFEFF\xEF]/.test(String.fromCharCode(...start));
}

/** X-Linked-ETag: of a large file, Hugging Face says the SHA-256 before it leads to where the bytes are. */
function promisedDigest(headers: Headers): string | undefined {
    return /^"?([0-9a-f]{64})"?$/.exec(headers.get('x-linked-etag') ?? '')?.[1];
}

function isEncoded(response: Response): boolean {
    const encoding = response.headers.get('content-encoding');
    return encoding !== null && encoding !== '' && encoding !== 'identity';
}

function discard(response: Response): void {
    response.body?.cancel().catch(() => undefined);
}
