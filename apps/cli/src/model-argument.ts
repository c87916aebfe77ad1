// What MODEL means on the command line: a downloaded model, a path, a URL, the name of an Ollama model, or `builtin`.
import { LapidaryError, Model, formatBytes, openHttp, type Engine } from 'lapidary';
import { findEntry } from 'lapidary/hub';
import { keptModelsHere, loadEngine, openDownloaded, openLocalModel, type LocalModel } from 'lapidary/node';

export const modelHelp = "a downloaded model such as e2b, a GGUF file, an http(s) URL, an Ollama model, or 'builtin'";

export type ModelBytes = LocalModel;

export interface OpenModel extends ModelBytes {
    engine: Engine;
    model: Model;
}

/** Finds the bytes; the caller closes the sources. */
export async function openModelBytes(argument: string, signal?: AbortSignal): Promise<ModelBytes> {
    if (/^https?:\/\//i.test(argument)) {
        const kept = await keptModelsHere().find(argument);
        if (kept?.state === 'complete') return await openDownloaded(kept);
        return { sources: await openHttp(argument, signal ? { signal } : {}), origin: argument };
    }
    // Without this, ftp://… would be looked for as a file, and the answer would be that there is no such file.
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(argument)) {
        throw new LapidaryError('invalid_argument', `'${argument}' cannot be read, only http: and https: addresses`);
    }
    try {
        return await openLocalModel(argument);
    } catch (error) {
        if (!(error instanceof LapidaryError) || error.code !== 'not_found') throw error;
        const entry = findEntry(argument);
        if (entry) {
            const what = `'lapidary pull ${entry.names[0] ?? entry.id}' gets ${entry.title} (about ${formatBytes(entry.bytes.about)})`;
            throw new LapidaryError('not_found', `'${argument}' is not on this computer; ${what}`, { cause: error });
        }
        if (/^(hf|ollama):/i.test(argument)) {
            throw new LapidaryError('not_found', `'${argument}' is not on this computer; 'lapidary pull ${argument}' gets it`, { cause: error });
        }
        if (!/ Ollama model/.test(error.message)) throw error;
        throw new LapidaryError('not_found', `${error.message}; 'lapidary models' lists what is there`, { cause: error });
    }
}

/** Runs `work` with the opened model and closes everything afterwards. */
export async function withModel<Result>(
    argument: string,
    signal: AbortSignal,
    work: (open: OpenModel) => Promise<Result>,
): Promise<Result> {
    // The model first: a wrong name should not wait for the engine.
    const bytes = await openModelBytes(argument, signal);
    let engine: Engine;
    try {
        engine = await loadEngine({ log: logToStderr });
    } catch (error) {
        await Promise.allSettled(bytes.sources.map((source) => source.close()));
        throw error;
    }
    try {
        const model = await Model.open(engine, bytes.sources, signal);
        try {
            return await work({ ...bytes, engine, model });
        } finally {
            // An error here must not hide the one that `work` may have thrown.
            await model.close().catch(() => undefined);
        }
    } finally {
        engine.close(); // the GPU is given back here rather than somewhere in the teardown of the process
    }
}

/** The engine's warnings; with LAPIDARY_LOG set, everything it says. */
export function logToStderr(level: string, text: string): void {
    if (level === 'warning' || level === 'error') process.stderr.write(`lapidary: ${text}\n`);
    else if (process.env['LAPIDARY_LOG']) process.stderr.write(`${level}: ${text}\n`);
}
