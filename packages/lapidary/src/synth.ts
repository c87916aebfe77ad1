// Models of noise: real sizes without real weights, for measuring.
import type { Engine } from './engine.js';
import { numberField } from './json.js';
import { callOptions, type WorkOptions } from './model.js';
import type { ByteSink } from './sources/source.js';

export interface SynthRequest {
    /** A member of the family, such as "e2b"; the engine's refusal of another names them all. */
    variant: string;
    /** The type of most weights, as for `Model.quantize`. */
    type: string;
    /** The same seed gives the same file. */
    seed?: number;
}

/** Writes a model that was never trained. */
export async function synthesize(
    engine: Engine,
    request: SynthRequest,
    sink: ByteSink,
    options: WorkOptions = {},
): Promise<{ bytes: number; tensors: number }> {
    const number = engine.addSink(sink);
    try {
        const { json } = await engine.call('model.synth', { ...request, sink: number }, callOptions(options));
        const what = 'the answer to synth';
        return { bytes: numberField(json, 'bytes', what), tensors: numberField(json, 'tensors', what) };
    } finally {
        engine.removeSink(number);
    }
}
