// A fake engine that behaves like one with a model loaded: it opens, loads, makes sessions, and answers as told. For
// what the real one does too rarely to be tested, such as losing its GPU.
import { LocalCore, type CoreOptions, type LocalContext } from '../core/local.js';
import { MemorySource } from '../sources/source.js';
import { FakeEngine, type FakeCall } from './fake-engine.js';
import { FakeTrainer } from './fake-trainer.js';

export interface FakeGenerate {
    /** Which engine answers: 0 is the first, and the count grows each time one is built anew. */
    engine: number;
    session: number;
    args: Record<string, unknown>;
    emit(event: object): void;
    finish(json?: object): void;
    fail(code: string, message: string): void;
    /** Resolves when the call is told to stop; it is then finished as the engine does it. */
    cancelled: Promise<void>;
}

export class FakeModel {
    readonly engines: FakeEngine[] = [];
    readonly closed: string[] = [];
    readonly generated: FakeGenerate[] = [];
    /** What sessions were made with. */
    readonly sessions: Record<string, unknown>[] = [];
    readonly trainer = new FakeTrainer();
    /** Of each engine: whether it should have everything. */
    readonly workshops: boolean[] = [];
    onGenerate: (call: FakeGenerate) => void = ({ finish }) => finish();
    onLoad: (engine: number) => { code: string; message: string } | undefined = () => undefined;
    /** There is no memory for more. */
    mostSessions = Infinity;
    /** Asked before each text becomes a vector. */
    failEmbed: () => { code: string; message: string } | undefined = () => undefined;
    /** With it the model has towers of its own: answers projector.* and media.*. */
    onMedia: ((method: string, args: Record<string, unknown>, blob: Uint8Array) => object) | undefined;
    onEmbed: (tokens: number[]) => number[] = () => [3, 4];
    private readonly stops = new Map<string, () => void>();

    async start(options: CoreOptions = {}, context: Partial<LocalContext> = {}): Promise<LocalCore> {
        const source = new MemorySource(new Uint8Array(4), 'fake.gguf');
        source.close = async () => void this.closed.push(source.name);
        return await LocalCore.start({ kind: 'open', sources: [source] }, { backend: 'cpu', ...options }, {
            runtime: { makeEngine: async ({ workshop = false, ...engineOptions }) => {
                    this.workshops.push(workshop);
                    return await this.engine().connect(engineOptions);
                }, findGpu: async () => undefined },
            log: () => undefined,
            ...context,
        });
    }

    private engine(): FakeEngine {
        const engine = new FakeEngine();
        const number = this.engines.push(engine) - 1;
        let sessions = 0;
        engine.onCancel = (call) => {
            this.trainer.cancel(number, call);
            this.stops.get(`${number} ${call}`)?.();
        };
        engine.onCall = (call) => {
            const { method, number: id } = call;
            if (this.trainer.answer(engine, number, call)) return;
            if (method === 'model.open') engine.finish(id, { model: 1 });
            else if (method === 'model.describe') engine.finish(id, this.onMedia ? { ...description, capabilities: ['completion', 'vision', 'audio'] } : description);
            else if (method === 'model.load') {
                const failure = this.onLoad(number);
                if (failure) engine.fail(id, failure.code, failure.message);
                else engine.finish(id, { bytes: 100 });
            } else if (method === 'session.create') {
                this.sessions.push(call.args as Record<string, unknown>);
                if (sessions === this.mostSessions) engine.fail(id, 'out_of_memory', 'the GPU has no room');
                else engine.finish(id, { session: ++sessions, context: 64 });
            } else if (method === 'model.tokenize') engine.finish(id, {}, words(call.blob));
            else if (method === 'model.detokenize') engine.finish(id, { text: 'text' });
            else if (method === 'session.embed') {
                const failure = this.failEmbed();
                if (failure) engine.fail(id, failure.code, failure.message);
                else {
                    let at = 0;
                    const { lengths } = call.args as { lengths: number[] };
                    const vectors = lengths.map((length) => this.onEmbed([...call.blob.subarray(4 * at, 4 * (at += length))]));
                    engine.finish(id, {}, floats(vectors.flat()));
                }
            } else if (method === 'model.embedding_input') {
                const { lengths: whole, most = Infinity } = call.args as { lengths: number[]; most?: number };
                let at = 0;
                const texts = whole.map((length) => [...call.blob.subarray(at, (at += length))].slice(0, most));
                engine.finish(id, { lengths: texts.map(({ length }) => length), whole }, words(Uint8Array.from(texts.flat())));
            }
            else if (this.onMedia && /^(media|projector)\./.test(method)) {
                engine.finish(id, this.onMedia(method, call.args as Record<string, unknown>, call.blob));
            } else if (method === 'session.generate') this.generate(engine, number, call);
            else engine.finish(id, {});
        };
        return engine;
    }

    private generate(engine: FakeEngine, number: number, { number: id, args }: FakeCall): void {
        const given = args as Record<string, unknown>;
        let over = false;
        const once = (step: () => void) => {
            if (!over) step();
            over = true;
        };
        const call: FakeGenerate = {
            engine: number,
            session: Number(given['session']),
            args: given,
            emit: (event) => engine.emit(id, event),
            finish: (json = {}) => once(() => engine.finish(id, { ...result, ...json })),
            fail: (code, message) => once(() => engine.fail(id, code, message)),
            cancelled: new Promise((resolve) => {
                this.stops.set(`${number} ${id}`, () => {
                    resolve();
                    once(() => engine.fail(id, 'cancelled', 'stopped'));
                });
            }),
        };
        this.generated.push(call);
        this.onGenerate(call);
    }
}

const description = {
    name: 'Fake',
    supported: true,
    context_length: 8192,
    memory: { weights: 1000, kv_cache_at_4096: 4096, kv_cache_at_8192: 8192 },
};

const result = {
    text: '',
    finish_reason: 'stop',
    prompt_tokens: 3,
    completion_tokens: 2,
    cached_tokens: 0,
    prompt_ms: 10,
    completion_ms: 20,
};

/** One token a byte. */
function words(bytes: Uint8Array): Uint8Array {
    return new Uint8Array(Int32Array.from(bytes).buffer);
}

function floats(values: readonly number[]): Uint8Array {
    return new Uint8Array(Float32Array.from(values).buffer);
}
