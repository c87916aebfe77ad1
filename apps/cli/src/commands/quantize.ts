// lapidary quantize: the same model with its weights in another type.
import { Option, type Command } from 'commander';
import { LapidaryError } from 'lapidary';
import { withSink, type Interrupts } from '../interrupt.js';
import { modelHelp, withModel } from '../model-argument.js';
import { createOutput, isSameFile } from '../output-file.js';
import { ProgressLine, formatBytes } from '../terminal.js';

interface Flags {
    type: string;
    force?: boolean;
}

export function addQuantize(program: Command, interrupts: Interrupts): void {
    program
        .command('quantize')
        .description('write a model with its weights in another type')
        .argument('<in>', modelHelp)
        .argument('<out>', 'the GGUF file to write')
        .addOption(
            new Option('--type <type>', 'the type of most weights')
                .choices(['q8_0', 'q4_0', 'q4_k_m', 'f16', 'bf16', 'f32'])
                .makeOptionMandatory(),
        )
        .option('--force', 'overwrite OUT when it exists')
        .addHelpText('after', '\nExample:\n  lapidary quantize model-f16.gguf model-q8_0.gguf --type q8_0')
        .action(async (input: string, output: string, flags: Flags) => {
            const { signal } = interrupts;
            await withModel(input, signal, async ({ model, origin }) => {
                if (await isSameFile(output, origin)) {
                    throw new LapidaryError('invalid_argument', `'${output}' is the model itself; choose another name`);
                }
                const sink = await createOutput(output, flags.force === true);
                const progress = new ProgressLine(`writing ${flags.type}`, 'bytes');
                const result = await withSink(sink, () =>
                    model.quantize(flags.type, sink, { onProgress: progress.update, signal }),
                ).finally(() => progress.clear());
                const bytes = result['bytes'];
                if (typeof bytes === 'number') process.stdout.write(`${output}: ${formatBytes(bytes)}\n`);
            });
        });
}
