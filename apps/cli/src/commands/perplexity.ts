// lapidary perplexity: how surprised the model is by a text.
import type { Command } from 'commander';
import type { KvFormat } from 'lapidary';
import { adapterOption, useAdapters, type AdapterArgument } from '../adapters.js';
import { accuracyOption, backendOption, cpuFlags, kvOption, loadWeights, threadsOption, type BackendFlag, type CpuFlags } from '../backend.js';
import { readTextFile } from '../input.js';
import type { Interrupts } from '../interrupt.js';
import { modelHelp, withModel } from '../model-argument.js';
import { parseInteger } from '../numbers.js';
import { ProgressLine } from '../terminal.js';

interface Flags extends CpuFlags {
    file: string;
    window?: number;
    backend: BackendFlag;
    kv: KvFormat;
    json?: boolean;
    adapter?: AdapterArgument[];
}

export function addPerplexity(program: Command, interrupts: Interrupts): void {
    program
        .command('perplexity')
        .description('measure how well a model predicts a text; lower is better')
        .argument('<model>', modelHelp)
        .requiredOption('--file <file>', 'the text, UTF-8')
        .option('--window <n>', 'tokens the model sees at a time', parseInteger({ min: 2, max: 2 ** 31 - 1 }))
        .addOption(backendOption())
        .addOption(threadsOption())
        .addOption(accuracyOption())
        .addOption(kvOption())
        .addOption(adapterOption())
        .option('--json', 'as JSON')
        .addHelpText('after', '\nExample:\n  lapidary perplexity builtin --file story.txt --window 512')
        .action(async (argument: string, flags: Flags) => {
            const { signal } = interrupts;
            const { window, kv } = flags;
            const text = await readTextFile(flags.file);
            await withModel(argument, signal, async (open) => {
                const { model } = open;
                const adapters = await useAdapters(open, flags.adapter, signal);
                // Plain text: a special token spelled out in a book is not a special token.
                const { tokens } = await model.tokenize(text, { parseSpecial: false });
                await loadWeights(model, flags.backend, signal, cpuFlags(flags));
                const session = await model.createSession({ signal, kv, ...(window === undefined ? {} : { context: window }) });
                const progress = new ProgressLine('measuring', 'tokens');
                const result = await session
                    .perplexity(tokens, {
                        adapters,
                        signal,
                        onProgress: progress.update,
                        ...(window === undefined ? {} : { window }),
                    })
                    .finally(() => progress.clear());
                process.stdout.write(
                    flags.json
                        ? `${JSON.stringify(result)}\n`
                        : `perplexity ${result.perplexity.toFixed(4)} over ${result.tokens} tokens ` +
                              `(${result.nll.toFixed(5)} nats a token)\n`,
                );
            });
        });
}
