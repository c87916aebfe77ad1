// What goes wrong in a request, and how each kind of client wants to be told.
import { LapidaryError, messageOf, type JsonObject } from 'lapidary';

export interface ErrorDetails {
    /** A stable word for programs, such as `model_not_found`. */
    code?: string;
    /** The field of the request that is to blame. */
    param?: string;
    /** Seconds after which it makes sense to come back. */
    retryAfter?: number;
}

export class HttpError extends Error {
    override readonly name = 'HttpError';

    constructor(
        readonly status: number,
        message: string,
        readonly details: ErrorDetails = {},
    ) {
        super(message);
    }
}

/** A request that cannot be right, with the field that is to blame. */
export function badRequest(message: string, param?: string): HttpError {
    return new HttpError(400, message, param === undefined ? {} : { param });
}

export function modelNotFound(name: string): HttpError {
    const shown = name.length > 200 ? `${name.slice(0, 200)}…` : name;
    return new HttpError(404, `model '${shown}' not found`, { code: 'model_not_found', param: 'model' });
}

/** The status nobody reads: the client left. Only the log shows it. */
const clientLeft = 499;

const statusOfCode: Partial<Record<LapidaryError['code'], number>> = {
    invalid_argument: 400,
    unsupported: 400,
    limit: 400,
    not_found: 404,
    out_of_memory: 507,
    device_lost: 503,
    cancelled: clientLeft,
};

export function asHttpError(thrown: unknown): HttpError {
    if (thrown instanceof HttpError) return thrown;
    if (!(thrown instanceof LapidaryError)) return new HttpError(500, messageOf(thrown), { code: 'internal' });
    // Where a member of the request is to blame, the engine's sentences begin with its name.
    const param = thrown.details?.param ?? /^'([A-Za-z_][\w.[\]]*)' /.exec(thrown.message)?.[1];
    // OpenAI's clients know this one by its name.
    const tooLong = thrown.code === 'limit' && thrown.message.includes('context');
    const code = tooLong ? 'context_length_exceeded' : thrown.code;
    const status = statusOfCode[thrown.code] ?? 500;
    return new HttpError(status, thrown.message, { code, ...(param === undefined ? {} : { param }) });
}

/** What OpenAI's clients read. */
export interface OpenAiError {
    error: { message: string; type: string; param: string | null; code: string | null };
}

export function openAiError({ message, status, details }: HttpError): OpenAiError {
    const { param = null, code = null } = details;
    return { error: { message, type: openAiType(status), param, code } };
}

function openAiType(status: number): string {
    if (status === 401) return 'authentication_error';
    if (status === 403) return 'permission_error';
    if (status === 429) return 'rate_limit_error';
    return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/** What Anthropic's clients read. */
export interface AnthropicError extends JsonObject {
    type: 'error';
    error: { type: string; message: string };
}

export function anthropicError({ message, status, details }: HttpError): AnthropicError {
    const tooLong = details.code === 'context_length_exceeded'; // which they know by these words
    return { type: 'error', error: { type: anthropicType(status), message: tooLong ? `prompt is too long: ${message}` : message } };
}

const anthropicTypes: Readonly<Record<number, string>> = {
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    503: 'overloaded_error',
};

function anthropicType(status: number): string {
    return anthropicTypes[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/** In the shape that whoever uses this path expects. */
export function errorResponse(path: string, error: HttpError): Response {
    const headers: Record<string, string> = { 'cache-control': 'no-store' };
    if (error.details.retryAfter !== undefined) headers['retry-after'] = String(error.details.retryAfter);
    if (error.status === 401) headers['www-authenticate'] = 'Bearer';
    // 499 is our own; a Response takes it all the same.
    const init = { status: error.status, headers };
    if (isUnder(path, '/v1/messages')) return Response.json(anthropicError(error), init);
    if (isUnder(path, '/v1')) return Response.json(openAiError(error), init);
    if (isUnder(path, '/api')) return Response.json({ error: error.message }, init);
    headers['content-type'] = 'text/plain; charset=utf-8';
    return new Response(`${error.message}\n`, init);
}

export function isUnder(path: string, folder: string): boolean {
    return path === folder || path.startsWith(`${folder}/`);
}
