// One of the fixtures on Dawn with Chromium's software GPU, and on the CPU beside it. In the test's own process: what
// takes long is compiling kernels; all models of a process share them, because they share an engine.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after } from 'node:test';
import { MemorySource, Model, synthesize, type Backend, type ByteSource, type Engine, type GenerateRequest, type KvFormat, type Session } from 'lapidary';
import { loadEngine, openFile } from 'lapidary/node';
import { MemorySink } from './memory-sink.js';
import { needsEngine, root } from './process.js';
import { readTensor } from './safetensors.js';

export const fixtures = ['tiny-e2b-q4km', 'tiny-e2b-q4_0', 'tiny-31b-q4km', 'tiny-moe-q4km', 'tiny-gemma3-q4km', 'tiny-gemma3-4b-blob-q4km', 'tiny-gemma3-27b-q4km'] as const;
const folder = path.join(root, 'tests', 'data', 'fixtures');
const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json';

/** The option of a test that needs the software GPU: says why it is skipped when there is none. */
export function needsSoftwareGpu(): { skip: string | false } {
    return existsSync(swiftShader) ? needsEngine() : { skip: `there is no software GPU at ${swiftShader}` };
}

export interface Where {
    backend: Backend;
    /** As exact as they get unless told. */
    kv?: KvFormat;
    context?: number;
}

const usualContext = 160;

let started: Promise<Engine> | undefined;
after(async () => (await started)?.close());

/** One for all tests of a process. */
export function softwareEngine(): Promise<Engine> {
    process.env['LAPIDARY_GPU'] ??= 'swiftshader';
    return (started ??= loadEngine());
}

export class GpuModel {
    private readonly sessions = new Map<string, Session>();

    private constructor(
        readonly engine: Engine,
        readonly model: Model,
    ) {}

    /** `file`: the name of a fixture, or a path. */
    static async open(file: string): Promise<GpuModel> {
        return await GpuModel.from(await openFile(file.endsWith('.gguf') ? file : path.join(folder, `${file}.gguf`)));
    }

    /** A layer of noise: for what depends on no architecture and takes many tokens. */
    static async openTiny(): Promise<GpuModel> {
        const sink = new MemorySink();
        await synthesize(await softwareEngine(), { variant: 'tiny-one', type: 'q8_0' }, sink);
        return await GpuModel.from([new MemorySource(sink.bytes())]);
    }

    private static async from(sources: readonly ByteSource[]): Promise<GpuModel> {
        const engine = await softwareEngine();
        const model = await Model.open(engine, sources);
        // Which kernels a GPU gets is tested elsewhere; here they are always the same, those that compute with floats.
        await model.load('gpu', { selfTest: false, without: ['packed_4x8_integer_dot_product'] });
        await model.load('cpu');
        return new GpuModel(engine, model);
    }

    async close(): Promise<void> {
        for (const session of this.sessions.values()) await session.close();
        await this.model.close();
    }

    /** The same one for the same place, as long as the model is open: with it the kernels would go. */
    async session({ backend, kv = 'f32', context = usualContext }: Where): Promise<Session> {
        const key = `${backend} ${kv} ${context}`;
        const known = this.sessions.get(key) ?? (await this.model.createSession({ backend, kv, context }));
        this.sessions.set(key, known);
        return known;
    }

    async logits(tokens: ArrayLike<number>, { atOnce, ...where }: Where & { atOnce?: number }): Promise<Float32Array> {
        const session = await this.session(where);
        const sink = new MemorySink();
        await session.logits(tokens, sink, { atOnce });
        return sink.floats();
    }
}

/** What comes after these tokens: the likeliest ones unless told otherwise. `cached`: so many were known already. */
export async function continued(
    session: Session,
    tokens: readonly number[],
    count: number,
    sampling: GenerateRequest['sampling'] = {},
): Promise<{ tokens: number[]; cached: number }> {
    const seen: number[] = [];
    const request = { prompt: '', continue_tokens: tokens, max_tokens: tokens.length + count, sampling: { temperature: 0, ...sampling } };
    const { cached_tokens: cached } = await session.generate(request, {
        onEvent: (event) => {
            if (event.type === 'text') seen.push(...event.tokens);
        },
    });
    return { tokens: seen, cached };
}

/** What a fixture must compute. */
export async function expectedOf(fixture: string): Promise<{ tokens: number[]; logits: Float32Array }> {
    const file = path.join(folder, `${fixture}.safetensors`);
    return { tokens: [...(await readTensor(file, 'tokens'))], logits: await readTensor(file, 'logits') };
}

/** Made-up tokens that are the same every time. */
export function someTokens(count: number, seed = 7): number[] {
    let state = seed;
    return Array.from({ length: count }, () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return 30 + (state >>> 16) % 400;
    });
}
