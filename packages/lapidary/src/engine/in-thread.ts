// The engine in a thread of its own, for Node: whoever loaded it has other things to do meanwhile.
import { SHARE_ENV, Worker } from 'node:worker_threads';
import { checkOptions } from '../core/start.js';
import { LapidaryError, messageOf, throwIfCancelled } from '../error.js';
import { LoadedEngine } from '../lapidary.js';
import type { LoadOptions, ModelSource } from '../options.js';
import { threadPort } from '../rpc/port.js';
import { prepareSource } from '../sources/prepared.js';
import { EngineClient } from './client.js';

/** For tests: how long a thread may say nothing, and how often it is asked. */
export interface Patience {
    silentMs: number;
    everyMs: number;
}

// It lets others have a turn every few milliseconds, also in the middle of a token.
const usualPatience: Patience = { silentMs: 30_000, everyMs: 10_000 };

export async function loadInThread(source: ModelSource, options: LoadOptions = {}, patience = usualPatience): Promise<LoadedEngine> {
    if (options.gpu !== undefined) throw new LapidaryError('unsupported', 'a GPU of your own cannot be sent to another thread');
    const here = { hasDisk: true, base: undefined };
    const core = checkOptions(options, here);
    throwIfCancelled(options.signal);
    const prepared = prepareSource(source, options, here);
    const log = options.log ?? (() => undefined);
    // Where Vulkan's driver is, is told by the environment of the process, which a thread's copy is not.
    const thread = new Worker(new URL('./thread.js', import.meta.url), { env: SHARE_ENV, name: 'lapidary' });
    const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
    let fail: (error: LapidaryError) => void = () => undefined;
    thread.on('error', (error) => fail(new LapidaryError('internal', `the engine's thread stopped: ${messageOf(error)}`)));
    thread.on('exit', () => fail(new LapidaryError('internal', `the engine's thread ended`)));
    const { onProgress, onInfo, onOpened, signal } = options;
    const end = async (close: () => Promise<void>) => {
        clearInterval(watchdog);
        // Never killed: with a GPU in it, that would end the process.
        await Promise.race([close(), ended]);
        await ended;
    };
    const watched: { client?: EngineClient } = {};
    const watchdog = setInterval(() => {
        const { client } = watched;
        if (client) void answersIn(client, patience.silentMs).then((answers) => answers || giveUp(client));
    }, patience.everyMs);
    watchdog.unref();
    const giveUp = (client: EngineClient) => {
        clearInterval(watchdog);
        const why = `the engine has not answered for ${patience.silentMs / 1000} s`;
        if (client.info.backend === 'gpu') return log('error', `${why}; a GPU cannot be taken from it`);
        fail(new LapidaryError('internal', why));
        void thread.terminate();
    };
    const context = { log, onProgress, onInfo, onOpened, signal, end };
    const client = await EngineClient.start(threadPort(thread), prepared, core, context, (how) => (fail = how));
    watched.client = client;
    return new LoadedEngine(client);
}

async function answersIn(client: EngineClient, milliseconds: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), milliseconds)));
    const answered = client.ping().then(
        () => true,
        () => true, // it is gone, and everybody knows
    );
    try {
        return await Promise.race([answered, late]);
    } finally {
        clearTimeout(timer);
    }
}
