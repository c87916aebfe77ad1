// lapidary gradcheck: whether training computes the gradients that others computed on the same model.
import { promises as fs } from 'node:fs';
import type { Command } from 'commander';
import { LapidaryError, type JsonObject } from 'lapidary';
import { fileError } from 'lapidary/node';
import { backendOption, chooseBackend, loadWeights } from '../backend.js';
import type { Interrupts } from '../interrupt.js';
import { modelHelp, withModel } from '../model-argument.js';
import { parseInteger } from '../numbers.js';
import { formatTable } from '../terminal.js';

interface Flags {
    backend: string;
    checkpointing: boolean;
    steps?: number;
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
        .option('--json', 'every number as JSON')
        .addHelpText('after', '\nExample:\n  lapidary gradcheck tiny.gguf tiny.lora.safetensors --backend gpu')
        .action(async (argument: string, file: string, flags: Flags) => {
            const fixture = await fs.readFile(file).catch((error: unknown) => {
                throw fileError(error, file, 'read');
            });
            await withModel(argument, signal, async ({ engine, model }) => {
                const backend = chooseBackend(flags.backend);
                await loadWeights(model, backend, signal);
                const { checkpointing, steps } = flags;
                const args = { model: model.number, backend, checkpointing, ...(steps === undefined ? {} : { steps }) };
                const { json } = await engine.call('train.gradcheck', args, { blob: fixture, signal });
                process.stdout.write(`${flags.json ? JSON.stringify(json) : describe(json).join('\n')}\n`);
                if (json['passed'] !== true) throw new LapidaryError('internal', 'the gradients are not those expected');
            });
        });
}

function describe(report: JsonObject): string[] {
    const number = (name: string) => Number(report[name]);
    const short = (value: unknown) => Number(value).toExponential(1);
    const gradients = Array.isArray(report['gradients']) ? (report['gradients'] as JsonObject[]) : [];
    const steps = Array.isArray(report['steps']) ? report['steps'] : [];
    const sensitivity = Array.isArray(report['sensitivity']) ? report['sensitivity'] : [];
    return [
        ...formatTable([['matrix', 'dA', 'dB'], ...gradients.map(({ label, a, b }) => [String(label), short(a), short(b)])], [
            false,
            true,
            true,
        ]),
        '',
        ...formatTable([['step', 'loss', 'sensitivity'], ...steps.map((error, i) => [String(i + 1), short(error), short(sensitivity[i])])], [
            true,
            true,
            true,
        ]),
        '',
        `loss: ${short(report['loss'])} (at most ${short(report['loss_tolerance'])})`,
        `gradients: ${short(report['worst_gradient'])} (at most ${short(report['gradient_tolerance'])})`,
        `the first ${number('determined')} of ${steps.length} AdamW steps, which rounding does not decide: ` +
            `${short(report['worst_step'])} (at most ${short(report['step_tolerance'])})`,
    ];
}
