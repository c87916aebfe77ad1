// lapidary generate: continue a text.
import type { Command } from 'commander';
import type { KvFormat, TablePlace } from 'lapidary';
import { adapterOption, useAdapters, type AdapterArgument } from '../adapters.js';
import { accuracyOption, backendOption, cpuFlags, embeddingsOption, kvOption, loadWeights, threadsOption, type BackendFlag, type CpuFlags } from '../backend.js';
import { DraftView } from '../canvas/draft.js';
import { addDiffusionOptions, diffusionFrom, type DiffusionFlags } from '../canvas/settings.js';
import { UsageError } from '../errors.js';
import { readStandardInput } from '../input.js';
import type { Interrupts } from '../interrupt.js';
import { Senses, addMediaOptions, contentOf, mediaOf, type MediaFlags } from '../media.js';
import { modelHelp, withModel } from '../model-argument.js';
import { parseInteger } from '../numbers.js';
import { addSamplingOptions, samplingFrom, type SamplingFlags } from '../sampling.js';
import { describeSpeed } from '../stats.js';
import { ProgressLine, colours, safeFor } from '../terminal.js';

interface Flags extends SamplingFlags, MediaFlags, DiffusionFlags, CpuFlags {
    prompt?: string;
    tokens: number;
    context?: number;
    backend: BackendFlag;
    kv: KvFormat;
    embeddings: TablePlace;
    json?: boolean;
    adapter?: AdapterArgument[];
}

export function addGenerate(program: Command, interrupts: Interrupts): void {
    const command = program
        .command('generate')
        .description('continue a text; with pictures or sounds, answer it')
        .argument('<model>', modelHelp)
        .option('--prompt <text>', 'the text to continue; without it standard input, less a line break at its end')
        .option('-n, --tokens <n>', 'write at most this many tokens', parseInteger({ min: 1, max: 1_000_000 }), 256)
        .option('--context <n>', 'room for this many tokens', parseInteger({ min: 1, max: 2 ** 31 - 1 }));
    addDiffusionOptions(addMediaOptions(addSamplingOptions(command)))
        .addOption(backendOption())
        .addOption(threadsOption())
        .addOption(accuracyOption())
        .addOption(kvOption())
        .addOption(embeddingsOption())
        .addOption(adapterOption())
        .option('--json', 'everything as one JSON object at the end')
        .addHelpText('after', '\nExample:\n  lapidary generate builtin --prompt "Once upon a time" -n 100 --seed 7')
        .action(async (argument: string, flags: Flags) => {
            const { signal } = interrupts;
            const prompt = flags.prompt ?? (await promptFromInput(signal));
            if (prompt.trim() === '') throw new UsageError('there is nothing to continue: the text is empty');
            await withModel(argument, signal, async (open) => {
                const { model, params } = open;
                const parts = await mediaOf(flags, open.engine, signal);
                const adapters = await useAdapters(open, flags.adapter, signal);
                await loadWeights(model, flags.backend, signal, { embeddings: flags.embeddings, ...cpuFlags(flags) });
                const { context, kv } = flags;
                const session = await model.createSession({ signal, kv, ...(context === undefined ? {} : { context }) });
                const senses = await Senses.of(open, flags.mmproj, signal);
                // A file has no place in a text that is only continued: then it is a message.
                const asked =
                    parts.length > 0
                        ? { messages: await senses.place([{ role: 'user', content: contentOf(prompt, parts) }], signal), report_tokens: true }
                        : { prompt };
                const progress = new ProgressLine('reading', 'tokens');
                const tokens: number[] = [];
                const view = new DraftView();
                let text = '';
                const endLine = () => {
                    progress.clear();
                    view.clear();
                    if (!flags.json && text !== '' && !text.endsWith('\n')) process.stdout.write('\n');
                };
                try {
                    const result = await session.generate(
                        {
                            ...asked,
                            adapters,
                            max_tokens: flags.tokens,
                            drafts: view.wanted && !flags.json,
                            ...samplingFrom(flags, params),
                            ...diffusionFrom(flags),
                        },
                        {
                            signal,
                            onProgress: progress.update,
                            onEvent: (event) => {
                                if (event.type === 'tokens') tokens.push(...event.tokens);
                                if (event.type === 'draft') {
                                    progress.clear();
                                    view.show(event);
                                }
                                if (event.type !== 'text' && event.type !== 'content') return;
                                progress.clear();
                                text += event.text;
                                if (event.type === 'text') tokens.push(...event.tokens);
                                if (!flags.json) view.write(safeFor(process.stdout, event.text));
                            },
                        },
                    );
                    endLine();
                    if (flags.json) process.stdout.write(`${JSON.stringify({ ...result, tokens })}\n`);
                    const { dim } = colours(process.stderr);
                    if (process.stderr.isTTY) process.stderr.write(`${dim(describeSpeed(result))}\n`);
                } catch (error) {
                    endLine();
                    throw error;
                }
            });
        });
}

async function promptFromInput(signal: AbortSignal): Promise<string> {
    if (process.stdin.isTTY) throw new UsageError('there is nothing to continue: give --prompt');
    // What `echo` and editors put at the end is not part of the text.
    return (await readStandardInput(signal)).replace(/\r?\n$/, '');
}
