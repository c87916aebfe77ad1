// lapidary bench: how fast a model reads and writes here.
import type { Command } from 'commander';
import { LapidaryError, type Backend, type JsonObject, type KvFormat, type Model, type TablePlace } from 'lapidary';
import { chooseBackend, nodeGpu, whyNoNodeGpu } from 'lapidary/node';
import { accuracyOption, backendOption, cpuFlags, embeddingsOption, kvOption, loadWeights, threadsOption, type BackendFlag, type CpuFlags } from '../backend.js';
import { benchTowers } from '../bench-towers.js';
import { describeObject } from '../describe.js';
import { UsageError } from '../errors.js';
import type { Interrupts } from '../interrupt.js';
import { mmprojHelp, withProjector } from '../media-items.js';
import { modelHelp, withModel, type OpenModel } from '../model-argument.js';
import { parseInteger } from '../numbers.js';
import { ProgressLine } from '../terminal.js';

interface Flags extends CpuFlags {
    prompt: number;
    texts: number;
    number: number;
    depth: number;
    runs: number;
    backend: BackendFlag;
    kv: KvFormat;
    embeddings: TablePlace;
    profile?: boolean;
    fresh?: boolean;
    train?: boolean;
    rank: number;
    image?: number;
    audio?: number;
    mmproj?: string;
    checkpointing: boolean;
    json?: boolean;
}

/** How fast weights are read while decoding, as a share of the bytes a second that copying memory reads and writes. */
export function bandwidthShare(measured: JsonObject, copyBytesPerSecond: unknown): number | null {
    const { weight_bytes_per_token: bytes, decode_gpu_ms: ms } = measured;
    if (typeof bytes !== 'number' || typeof ms !== 'number' || typeof copyBytesPerSecond !== 'number' || ms <= 0) return null;
    return bytes / (ms / 1000) / copyBytesPerSecond;
}

/** Texts of a quarter, a half, three quarters and all of so many tokens, in turns. */
async function benchEmbeddings(
    model: Model,
    backend: Backend,
    { texts: number, prompt, runs }: Flags,
    signal: AbortSignal,
): Promise<JsonObject> {
    const { vocabulary = 2 } = await model.describe(signal);
    const longest = Math.max(1, prompt);
    const texts = Array.from({ length: number }, (_, text) =>
        Array.from({ length: Math.ceil((longest * (1 + (text % 4))) / 4) }, (_, i) => (7919 * (text + 1) + 104729 * i) % vocabulary),
    );
    const session = await model.createSession({ backend, signal });
    if (session.context < longest) throw new LapidaryError('limit', `the model reads ${session.context} tokens of a text at most`);
    const progress = new ProgressLine('measuring', 'steps');
    const seconds: number[] = [];
    try {
        for (let run = 0; run <= runs; run++) {
            const started = performance.now();
            await session.embedAll(texts, { signal });
            if (run > 0) seconds.push((performance.now() - started) / 1000); // the first one warms up
            progress.update({ done: run + 1, total: runs + 1 });
        }
    } finally {
        progress.clear();
        await session.close();
    }
    const median = seconds.sort((a, b) => a - b)[Math.floor(seconds.length / 2)] ?? 0;
    const tokens = texts.reduce((sum, { length }) => sum + length, 0);
    return { texts_per_second: number / median, tokens_per_second: tokens / median, texts: number, tokens, longest };
}

/** Weights of a text model are not loaded for it. */
async function printTowers(open: OpenModel, flags: Flags, signal: AbortSignal): Promise<void> {
    const { image, audio, runs } = flags;
    if (image !== undefined && audio !== undefined) throw new UsageError('give one of --image and --audio');
    const { backend } = await chooseBackend(flags.backend, () => nodeGpu(), whyNoNodeGpu);
    const measured = await withProjector(open, flags.mmproj, backend, signal, (projector) =>
        benchTowers(open.engine, projector, backend, { image, audio, runs }, signal),
    );
    process.stdout.write(`${flags.json ? JSON.stringify(measured) : describeObject(measured).join('\n')}\n`);
}

const count = parseInteger({ min: 1, max: 2 ** 20 });

export function addBench(program: Command, interrupts: Interrupts): void {
    program
        .command('bench')
        .description('measure how fast a model reads and writes')
        .argument('<model>', modelHelp)
        .option('-p, --prompt <n>', 'tokens to read', count, 512)
        .option('-n, --number <n>', 'tokens to write', count, 128)
        .option('--texts <n>', 'of a model of embeddings: texts at once, the longest of --prompt tokens', parseInteger({ min: 1, max: 2048 }), 32)
        .option('--depth <n>', 'tokens already in the context', parseInteger({ min: 0, max: 2 ** 20 }), 0)
        .option('--runs <n>', 'measurements, of which the median counts', parseInteger({ min: 1, max: 100 }), 5)
        .addOption(backendOption())
        .addOption(threadsOption())
        .addOption(accuracyOption())
        .addOption(kvOption())
        .addOption(embeddingsOption())
        .option('--profile', 'also the GPU time of each kernel')
        .option('--fresh', 'find out anew which kernels suit this GPU, instead of remembering it')
        .option('--train', 'instead, how fast an adapter of every layer is trained on sequences of --prompt tokens')
        .option('--rank <n>', 'of that adapter', parseInteger({ min: 1, max: 256 }), 16)
        .option('--image <tokens>', 'instead, how long its tower takes for a picture of at most so many tokens', parseInteger({ min: 1, max: 1120 }))
        .option('--audio <seconds>', 'instead, how long its tower takes for a sound', parseInteger({ min: 1, max: 600 }))
        .option('--mmproj <file>', `${mmprojHelp}; MODEL may be one itself`)
        .option('--no-checkpointing', 'with --train: keep every activation instead of computing layers again')
        .option('--json', 'as JSON')
        .addHelpText('after', '\nExample:\n  lapidary bench model.gguf --backend gpu -p 512 -n 128 --depth 4096')
        .action(async (argument: string, flags: Flags) => {
            const { signal } = interrupts;
            await withModel(argument, signal, async (open) => {
                const { model, engine } = open;
                if (flags.image !== undefined || flags.audio !== undefined) return await printTowers(open, flags, signal);
                const started = performance.now();
                const backend = await loadWeights(model, flags.backend, signal, {
                    fresh: flags.fresh === true,
                    embeddings: flags.embeddings,
                    ...cpuFlags(flags),
                });
                const loadSeconds = (performance.now() - started) / 1000;
                const print = (measured: JsonObject) => {
                    const result: JsonObject = {
                        backend,
                        ...measured,
                        load_s: Number(loadSeconds.toFixed(2)),
                        wasm_heap_bytes: engine.memoryBytes,
                    };
                    process.stdout.write(`${flags.json ? JSON.stringify(result) : describeObject(result).join('\n')}\n`);
                };
                if (flags.train) {
                    const { prompt: tokens, rank, runs, checkpointing } = flags;
                    const args = { model: model.number, tokens, rank, runs, checkpointing };
                    print((await engine.call('train.bench', args, { signal })).json);
                    return;
                }
                const { embedding_size, diffusion } = await model.describe(signal);
                if (embedding_size !== undefined) {
                    return print(await benchEmbeddings(model, backend, flags, signal));
                }
                const canvas = Number(diffusion?.['canvas_length'] ?? 0);
                const context = flags.depth + Math.max(flags.prompt + canvas, 2 * flags.number) + 1;
                const session = await model.createSession({ context, backend, kv: flags.kv, signal });
                const progress = new ProgressLine('measuring', 'steps');
                const measured = await session
                    .bench(
                        { prompt: flags.prompt, decode: flags.number, depth: flags.depth, runs: flags.runs },
                        { onProgress: progress.update, signal },
                    )
                    .finally(() => progress.clear());
                if (backend === 'cpu') return print({ ...measured, ...engine.cpuInfo, accuracy: flags.accuracy ?? 'exact' });
                const { bytes_per_second: copy = null } = (await engine.call('gpu.bandwidth', {}, { signal })).json;
                const { depth } = flags;
                const args = { session: session.number, depth };
                const profiled = flags.profile ? (await engine.call('session.profile', args, { signal })).json : {};
                print({
                    ...measured,
                    copy_bytes_per_second: copy,
                    bandwidth_share: bandwidthShare(measured, copy),
                    ...profiled,
                });
            });
        });
}
