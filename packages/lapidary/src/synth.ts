// Models of noise: real sizes without real weights, for measuring.
import type { Engine } from './engine.js';
import type { ModelSynthArgs, ModelSynthResult } from './messages.js';
import { callOptions, type WorkOptions } from './work.js';
import type { ByteSink } from './sources/source.js';

export type SynthRequest = Omit<ModelSynthArgs, 'sink'>;

/** Writes a model that was never trained. */
export async function synthesize(
    engine: Engine,
    request: SynthRequest,
    sink: ByteSink,
    options: WorkOptions = {},
): Promise<ModelSynthResult> {
    const number = engine.addSink(sink);
    try {
        return (await engine.call('model.synth', { ...request, sink: number }, callOptions(options))).json;
    } finally {
        engine.removeSink(number);
    }
}
