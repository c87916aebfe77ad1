// lapidary logits: the raw numbers of every position, for comparing engines.
import { Option, type Command } from 'commander';
import type { KvFormat } from 'lapidary';
import { FileSink } from 'lapidary/node';
import { adapterOption, useAdapters, type AdapterArgument } from '../adapters.js';
import { accuracyOption, backendOption, cpuFlags, kvOption, loadWeights, threadsOption, type BackendFlag, type CpuFlags } from '../backend.js';
import { UsageError } from '../errors.js';
import { readTokens } from '../input.js';
import { addMedia, checkEntries, mmprojHelp, parseMediaOption, withProjector, type MediaItem } from '../media-items.js';
import { withSink, type Interrupts } from '../interrupt.js';
import { modelHelp, withModel } from '../model-argument.js';
import { parseInteger, parseTokensOption } from '../numbers.js';
import { ProgressLine } from '../terminal.js';

interface Flags extends CpuFlags {
    tokens?: number[];
    tokensFile?: string;
    out: string;
    backend: BackendFlag;
    kv: KvFormat;
    atOnce?: number;
    committedFile?: string;
    canvasFile?: string[];
    temperatures?: number[];
    adapter?: AdapterArgument[];
    mmproj?: string;
    media?: MediaItem[];
    imageAttention?: 'reference' | 'llama.cpp';
}

export function addLogits(program: Command, interrupts: Interrupts): void {
    program
        .command('logits')
        .description('write the logits of every position as raw little-endian float32, one row a token')
        .argument('<model>', modelHelp)
        .option('--tokens <ids>', 'token ids, separated by commas', parseTokensOption)
        .option('--tokens-file <file>', 'a file of token ids as little-endian int32')
        .requiredOption('--out <file>', 'where to write')
        .addOption(backendOption())
        .addOption(threadsOption())
        .addOption(accuracyOption())
        .addOption(kvOption())
        .addOption(adapterOption())
        .option('--at-once <n>', 'tokens that go through the model together; 1: as when writing', parseInteger({ min: 1, max: 16 }))
        .option('--mmproj <file>', mmprojHelp)
        .option('--media <item>', 'image:PATH:BUDGET, frame:PATH:BUDGET or audio:PATH; entry -1 of the tokens is the first, and so on', parseMediaOption)
        .addOption(new Option('--image-attention <how>', 'how the tokens of an image see one another').choices(['reference', 'llama.cpp']))
        .option('--canvas-file <file>', 'of a diffusion model: a canvas behind the tokens, as little-endian int32; may be repeated', listed)
        .option('--committed-file <file>', '… tokens that lie between both')
        .option('--temperatures <list>', '… by which the logits of each canvas but the last are divided for the next one', numbersOf)
        .addHelpText('after', '\nExample:\n  lapidary logits builtin --tokens 2,10979,3501 --out logits.f32')
        .action(async (argument: string, flags: Flags) => {
            const { signal } = interrupts;
            const tokens = await wantedTokens(flags);
            const canvases = await canvasesOf(flags);
            await withModel(argument, signal, async (open) => {
                const { model } = open;
                const adapters = await useAdapters(open, flags.adapter, signal);
                const sink = await FileSink.create(flags.out, { overwrite: true });
                await withSink(sink, async () => {
                    const backend = await loadWeights(model, flags.backend, signal, cpuFlags(flags));
                    if (canvases.count > 0) {
                        const context = tokens.length + canvases.committed.length + canvases.longest;
                        const session = await model.createSession({ context, backend, kv: flags.kv, signal });
                        await session.canvasLogits([...tokens, ...canvases.committed, ...canvases.tokens], sink, {
                            adapters,
                            canvases: canvases.count,
                            temperatures: flags.temperatures ?? [],
                            signal,
                        });
                        return;
                    }
                    const compute = async (media: readonly { media: number; tokens: number }[]) => {
                        const length = tokens.reduce((sum, token) => sum + (token < 0 ? (media[-token - 1]?.tokens ?? 0) : 1), 0);
                        const imageAttention = flags.imageAttention;
                        const session = await model.createSession({
                            context: length,
                            backend,
                            kv: flags.kv,
                            signal,
                            ...(imageAttention ? { image_attention: imageAttention } : {}),
                        });
                        const progress = new ProgressLine('computing', 'tokens');
                        try {
                            await session.logits(tokens, sink, {
                                adapters,
                                atOnce: flags.atOnce,
                                media: media.map(({ media }) => ({ media })),
                                onProgress: progress.update,
                                signal,
                            });
                        } finally {
                            progress.clear();
                        }
                    };
                    const items = flags.media ?? [];
                    checkEntries(tokens, items);
                    if (items.length === 0) return await compute([]);
                    await withProjector(open, flags.mmproj, 'cpu', signal, async (projector) => {
                        const media = [];
                        for (const item of items) media.push(await addMedia(open.engine, projector, item, signal));
                        await compute(media);
                    });
                });
            });
        });
}

async function wantedTokens({ tokens, tokensFile }: Flags): Promise<number[]> {
    if ((tokens === undefined) === (tokensFile === undefined)) {
        throw new UsageError('give either --tokens or --tokens-file');
    }
    const wanted = tokens ?? (await readTokens(tokensFile ?? ''));
    if (wanted.length === 0) throw new UsageError('there is no token to compute anything for');
    return wanted;
}

const listed = (file: string, before: string[] = []) => [...before, file];

function numbersOf(text: string): number[] {
    const numbers = text.split(',').map(Number);
    if (!numbers.every((value) => Number.isFinite(value) && value > 0)) {
        throw new UsageError(`'${text}' is not a list of temperatures above 0, separated by commas`);
    }
    return numbers;
}

async function canvasesOf({ canvasFile = [], committedFile, temperatures = [] }: Flags) {
    if (canvasFile.length === 0 && (committedFile !== undefined || temperatures.length > 0)) {
        throw new UsageError('--committed-file and --temperatures go with --canvas-file');
    }
    if (canvasFile.length > 0 && temperatures.length !== canvasFile.length - 1) {
        throw new UsageError(`${canvasFile.length} canvases need ${canvasFile.length - 1} temperatures, not ${temperatures.length}`);
    }
    const canvases = await Promise.all(canvasFile.map(readTokens));
    const committed = committedFile === undefined ? [] : await readTokens(committedFile);
    const longest = Math.max(0, ...canvases.map(({ length }) => length));
    return { count: canvases.length, committed, tokens: canvases.flat(), longest };
}
