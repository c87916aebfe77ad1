// lapidary gradcheck: whether training computes the gradients that others computed on the same model.
import { promises as fs } from 'node:fs';
import type { Command } from 'commander';
import { LapidaryError, type JsonObject } from 'lapidary';
import { fileError } from 'lapidary/node';
import { backendOption, loadWeights, type BackendFlag } from '../backend.js';
import type { Interrupts } from '../interrupt.js';
import { modelHelp, withModel } from '../model-argument.js';
import { parseInteger } from '../numbers.js';
import { formatTable } from '../terminal.js';

interface Flags {
    backend: BackendFlag;
    checkpointing: boolean;
    steps?: number;
    runs?: number;
    json?: boolean;
}

export function addGradcheck(program: Command, { signal }: Interrupts): void {
    program
        .command('gradcheck')
        .description('compare the gradients of training with expected ones')
        .argument('<model>', modelHelp)
        .argument('<fixture>', 'a safetensors file with an adapter, tokens, and the loss and gradients they give')
        .addOption(backendOption())
        .option('--no-checkpointing', 'keep every activation instead of computing layers again')
        .option('--steps <n>', 'only so many of the AdamW steps', parseInteger({ min: 0, max: 1000 }))
        .option('--runs <n>', 'how many other runs show what rounding decides; 4 unless given', parseInteger({ min: 2, max: 64 }))
        .option('--json', 'every number as JSON')
        .addHelpText('after', '\nExample:\n  lapidary gradcheck tiny.gguf tiny.lora.safetensors --backend gpu')
        .action(async (argument: string, file: string, flags: Flags) => {
            const fixture = await fs.readFile(file).catch((error: unknown) => {
                throw fileError(error, file, 'read');
            });
            await withModel(argument, signal, async ({ engine, model }) => {
                    const backend = await loadWeights(model, flags.backend, signal);
                const { checkpointing, steps, runs } = flags;
                const args = {
                    model: model.number,
                    backend,
                    checkpointing,
                    ...(steps === undefined ? {} : { steps }),
                    ...(runs === undefined ? {} : { runs }),
                };
                const { json } = await engine.call('train.gradcheck', args, { blob: fixture, signal });
                process.stdout.write(`${flags.json ? JSON.stringify(json) : describe(json).join('\n')}\n`);
                if (json['passed'] !== true) throw new LapidaryError('internal', 'the gradients are not those expected');
            });
        });
}

function describe(report: JsonObject): string[] {
    // JSON has no infinity: what is no number at all comes as null.
    const numberOf = (value: unknown) => (value === null ? Infinity : Number(value));
    const number = (name: string) => numberOf(report[name]);
    const short = (value: unknown) => numberOf(value).toExponential(1);
    const list = (name: string) => (Array.isArray(report[name]) ? report[name] : []);
    const gradients = list('gradients') as JsonObject[];
    const alone = list('alone');
    const [guided, spread, distance] = ['guided', 'spread', 'distance'].map(list) as [unknown[], unknown[], unknown[]];
    const within = (errors: unknown[]) => {
        const first = errors.findIndex((error) => !(numberOf(error) <= number('step_tolerance')));
        return first < 0 ? errors.length : first;
    };
    const percent = `${100 * number('step_tolerance')} %`;
    return [
        ...formatTable([['matrix', 'dA', 'dB'], ...gradients.map(({ label, a, b }) => [String(label), short(a), short(b)])], [
            false,
            true,
            true,
        ]),
        '',
        ...formatTable(
            [
                ['step', 'alone', 'guided', 'spread', 'distance'],
                ...alone.map((error, i) => [
                    String(i + 1),
                    ...[error, guided[i], spread[i]].map(short),
                    numberOf(distance[i]).toFixed(1),
                ]),
            ],
            [true, true, true, true, true],
        ),
        '',
        `loss: ${short(report['loss'])} (at most ${short(report['loss_tolerance'])})`,
        `gradients: ${short(report['worst_gradient'])} (at most ${short(report['gradient_tolerance'])})`,
        `losses of AdamW, alone: the first ${within(alone)} of ${alone.length} within ${percent}`,
        `  guided (its first step with the expected gradients): the first ${within(guided)} within ${percent}`,
        '  (rounding decides where later ones go: docs/training.md)',
        `  guided, the first ${number('determined')}, whose spread is small: ` +
            `${short(report['worst_step'])} (at most ${short(report['step_tolerance'])})`,
        `  guided, all ${alone.length}: ${number('worst_distance').toFixed(1)} times the spread (at most ${number('distance_tolerance')})`,
    ];
}
