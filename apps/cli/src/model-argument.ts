// What MODEL means on the command line: a path, a URL, the name of an Ollama model, or `builtin`.
import { LapidaryError, Model, openHttp, type Engine } from 'lapidary';
import { loadEngine, openLocalModel, type LocalModel } from 'lapidary/node';

export const modelHelp = "a GGUF file, an http(s) URL, an Ollama model such as gemma4:e2b, or 'builtin'";

export type ModelBytes = LocalModel;

export interface OpenModel extends ModelBytes {
    engine: Engine;
    model: Model;
}

/** Finds the bytes; the caller closes the sources. */
export async function openModelBytes(argument: string, signal?: AbortSignal): Promise<ModelBytes> {
    if (/^https?:\/\//i.test(argument)) {
        return { sources: await openHttp(argument, signal ? { signal } : {}), origin: argument };
    }
    // Also other addresses are better answered as addresses than as odd file names.
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(argument)) {
        throw new LapidaryError('invalid_argument', `'${argument}' cannot be read, only http: and https: addresses`);
    }
    try {
        return await openLocalModel(argument);
    } catch (error) {
        const couldBeOllama = error instanceof LapidaryError && / Ollama model/.test(error.message);
        if (!couldBeOllama || error.code !== 'not_found') throw error;
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
            // What matters was said by then: a failure to tidy up must not hide it.
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
