// The server as a process: it listens, has patience only for so long, and stops without cutting anybody off in the
// middle of an answer if it can be helped.
import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { LapidaryError, messageOf, type LoadOptions } from 'lapidary';
import { loadInThread, systemCode } from 'lapidary/node';
import type { AdapterFile } from '../adapters.js';
import type { Stream } from '../terminal.js';
import { isLoopback } from './addresses.js';
import { createApp } from './app.js';
import { Catalogue } from './catalogue.js';
import { LoadedModels, type Load } from './loaded.js';
import { FairQueue } from './queue.js';
import { Service, stoppingError } from './service.js';

export interface ServeOptions {
    /** MODEL as on the command line; it is loaded at the start. */
    model?: string | undefined;
    /** More names of models; one may end in `*`. */
    aliases?: readonly (readonly [name: string, model: string])[];
    host: string;
    /** 0 takes any that is free. */
    port: number;
    apiKey?: string | undefined;
    allowedOrigins?: readonly string[];
    allowedHosts?: readonly string[];
    /** Take part in what the model answers. */
    adapters?: readonly AdapterFile[] | undefined;
    /** The projector of `model`. */
    mmproj?: string | undefined;
    /** How many requests may wait. */
    queue: number;
    /** How many models may be in memory. */
    models: number;
    load: LoadOptions;
    webRoot: string;
    version: string;
    log(text: string): void;
    accessLog?: Stream | undefined;
    /** For tests. */
    loadModel?: Load;
    timeouts?: Timeouts;
}

export interface RunningServer {
    /** For people and browsers. */
    url: string;
    port: number;
    service: Service;
    /** Lets answers under way finish for so many milliseconds, then stops them. */
    stop(graceMs: number): Promise<void>;
}

interface Timeouts {
    headersMs: number;
    /** Headers and body together. */
    requestMs: number;
    /** How often somebody looks at the clock. */
    everyMs: number;
    /** How long an answer may lie there without a byte of it being taken. */
    unreadMs?: number;
}

// A client that takes longer than this to say what it wants does not want it.
const usualTimeouts: Timeouts = { headersMs: 15_000, requestMs: 60_000, everyMs: 5000 };

// Half a minute is a laptop that changes networks; after this nobody reads any more.
const usualUnreadMs = 60_000;

// After this long without a word, a client whose computer was switched off is asked whether it is still there.
const silenceMs = 30_000;

const mostConnections = 2000;

export async function startServer(options: ServeOptions): Promise<RunningServer> {
    checkAddress(options.host, options.apiKey);
    const catalogue = await Catalogue.create(options.model, options.aliases);
    const queue = new FairQueue({ waiting: options.queue, perClient: Math.max(1, Math.ceil(options.queue * 0.9)) });
    const loaded = new LoadedModels({
        load: options.loadModel ?? ((source, load) => loadInThread(source, load)),
        options: options.load,
        most: options.models,
        adapters: options.adapters ? { model: catalogue.defaultId, files: options.adapters } : undefined,
        mmproj: options.mmproj === undefined ? undefined : { model: catalogue.defaultId, file: options.mmproj },
        log: options.log,
    });
    const stopped = new AbortController();
    setMaxListeners(0, stopped.signal); // one for each request
    const service = new Service(catalogue, loaded, queue, stopped.signal);
    const app = createApp(service, {
        security: {
            host: options.host,
            apiKey: options.apiKey,
            allowedOrigins: options.allowedOrigins ?? [],
            allowedHosts: options.allowedHosts ?? [],
        },
        webRoot: options.webRoot,
        version: options.version,
        accessLog: options.accessLog,
    });
    const timeouts = options.timeouts ?? usualTimeouts;
    const server = createServer(
        {
            headersTimeout: timeouts.headersMs,
            requestTimeout: timeouts.requestMs,
            connectionsCheckingInterval: timeouts.everyMs,
            keepAlive: true,
            keepAliveInitialDelay: silenceMs,
        },
        getRequestListener(app.fetch, {
            // Hono would replace the global Request and Response, which the engine uses for fetch.
            overrideGlobalObjects: false,
            // Hono would cut off a client that is still sending. Node reads the rest, and has time limits of its own.
            autoCleanupIncoming: false,
            errorHandler: () => new Response('the request is not valid\n', { status: 400 }),
        }),
    );
    server.maxConnections = mostConnections;
    letGoOfUnread(server, timeouts.unreadMs ?? usualUnreadMs);
    const address = await listen(server, options.host, options.port);
    if (options.apiKey === undefined && !isLoopback(address.address)) {
        server.close();
        throw keyNeeded(address.address);
    }
    if (options.model !== undefined) warmUp(service, options.log);
    return {
        url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
        port: address.port,
        service,
        stop: async (graceMs) => {
            const closed = new Promise<void>((resolve) => server.close(() => resolve()));
            queue.close(stoppingError());
            server.closeIdleConnections();
            const timer = setTimeout(() => stopped.abort(), graceMs);
            await queue.idle();
            clearTimeout(timer);
            await Promise.race([closed, pause(500)]); // the last lines are on their way
            server.closeAllConnections();
            await closed;
            await loaded.close();
        },
    };
}

/**
 * A connection on which nothing moves, in neither direction, is closed, unless its request is waiting for its turn or its
 * answer: then there is nothing that the client could have taken.
 */
function letGoOfUnread(server: Server, milliseconds: number): void {
    const asking = new WeakMap<Socket, number>();
    const count = (socket: Socket, by: number) => asking.set(socket, (asking.get(socket) ?? 0) + by);
    server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
        count(socket, 1);
        response.once('close', () => count(socket, -1));
    });
    server.setTimeout(milliseconds, (socket) => {
        const unread = socket.writableLength > 0;
        if (unread || (asking.get(socket) ?? 0) === 0) socket.destroy();
    });
}

/** Beyond this computer only with a key: whoever can reach the port could use it. */
function checkAddress(host: string, apiKey: string | undefined): void {
    if (!isLoopback(host) && apiKey === undefined) throw keyNeeded(host);
}

function keyNeeded(host: string): LapidaryError {
    return new LapidaryError('invalid_argument', `on ${host} others can reach this server: give it an --api-key too`);
}

async function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
    try {
        await new Promise<void>((resolve, reject) => {
            server.once('error', reject);
            server.listen({ host, port }, () => {
                server.off('error', reject);
                resolve();
            });
        });
    } catch (error) {
        throw new LapidaryError('io', whyNotListening(error, host, port), { cause: error });
    }
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new LapidaryError('internal', 'it has no address');
    return address;
}

function whyNotListening(error: unknown, host: string, port: number): string {
    switch (systemCode(error)) {
        case 'EADDRINUSE':
            return `port ${port} is in use already; --port takes another`;
        case 'EACCES':
            return `port ${port} may not be used by you; --port takes another`;
        case 'EADDRNOTAVAIL':
        case 'ENOTFOUND':
        case 'EAI_AGAIN':
            return `this computer has no address ${host}`;
        default:
            return `cannot listen on ${host}:${port}: ${systemCode(error) ?? String(error)}`;
    }
}

/** The model of --model will be asked for: its first client should not have to wait for it. */
function warmUp({ catalogue, loaded }: Service, log: (text: string) => void): void {
    const load = async () => {
        const entry = await catalogue.find(catalogue.defaultId);
        if (entry) await loaded.use(entry, new AbortController().signal, undefined, async () => undefined);
    };
    load().catch((error: unknown) => log(`the model could not be loaded: ${messageOf(error)}`));
}

function pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}
