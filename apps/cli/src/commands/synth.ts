// lapidary synth: a model with the sizes of a real one and noise for weights.
import { Option, type Command } from 'commander';
import { synthesize } from 'lapidary';
import { loadEngine } from 'lapidary/node';
import { withSink, type Interrupts } from '../interrupt.js';
import { logToStderr } from '../model-argument.js';
import { parseInteger } from '../numbers.js';
import { createOutput } from '../output-file.js';
import { ProgressLine, formatBytes } from '../terminal.js';

interface Flags {
    quant: string;
    seed: number;
    force?: boolean;
}

export function addSynth(program: Command, interrupts: Interrupts): void {
    program
        .command('synth')
        .description('write a model with random weights, to measure speed and memory without the real ones')
        .argument('<variant>', 'e2b, e4b, 12b, 26b-a4b, 31b or diffusion-26b-a4b; tiny-e2b, tiny-31b, tiny-one, tiny-wide, tiny-moe or tiny-diffusion for a few megabytes')
        .argument('<out>', 'the GGUF file to write')
        .addOption(
            new Option('--quant <type>', 'the type of most weights')
                .choices(['q4_k_m', 'q4_0', 'q8_0', 'f16', 'bf16', 'f32'])
                .default('q4_k_m'),
        )
        .option('--seed <n>', 'the same seed gives the same file', parseInteger({ min: 0, max: Number.MAX_SAFE_INTEGER }), 0)
        .option('--force', 'overwrite OUT when it exists')
        .addHelpText('after', '\nExample:\n  lapidary synth e2b synthetic-e2b.gguf --quant q4_k_m')
        .action(async (variant: string, output: string, flags: Flags) => {
            const { signal } = interrupts;
            const engine = await loadEngine({ log: logToStderr });
            const sink = await createOutput(output, flags.force === true);
            const progress = new ProgressLine(`writing ${variant}`, 'bytes');
            const request = { variant, type: flags.quant, seed: flags.seed };
            const { bytes, tensors } = await withSink(sink, () =>
                synthesize(engine, request, sink, { onProgress: progress.update, signal }),
            ).finally(() => progress.clear());
            process.stdout.write(`${output}: ${formatBytes(bytes)} in ${tensors} tensors\n`);
        });
}
