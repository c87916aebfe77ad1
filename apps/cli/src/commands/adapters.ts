// lapidary adapters: what an adapter is, the same one for another program, and a model that has learnt it for good.
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { Option, type Command } from 'commander';
import { LapidaryError, LoadedAdapter, type JsonObject } from 'lapidary';
import { fileError } from 'lapidary/node';
import { adapterHelp, parseAdapter, readAdapter, useAdapters, type AdapterArgument } from '../adapters.js';
import { withSink, type Interrupts } from '../interrupt.js';
import { modelHelp, withModel } from '../model-argument.js';
import { createOutput, isSameFile } from '../output-file.js';
import { ProgressLine, formatBytes, safeFor } from '../terminal.js';

export function addAdapters(program: Command, interrupts: Interrupts): void {
    const command = program
        .command('adapters')
        .description('LoRA adapters: look at them, convert them, merge them')
        .addHelpText('after', '\nExample:\n  lapidary adapters inspect facts.gguf --model builtin');
    addInspect(command, interrupts);
    addConvert(command, interrupts);
    addMerge(command, interrupts);
}

function addInspect(command: Command, { signal }: Interrupts): void {
    command
        .command('inspect')
        .description('what an adapter changes, and whether it belongs to a model')
        .argument('<adapter>', adapterHelp)
        .requiredOption('--model <model>', modelHelp)
        .option('--json', 'as JSON, with every matrix')
        .action(async (file: string, flags: { model: string; json?: boolean }) => {
            const files = await readAdapter(file);
            await withModel(flags.model, signal, async ({ engine, model }) => {
                const { description } = await LoadedAdapter.load(engine, model, files, signal);
                const text = flags.json ? JSON.stringify(description) : describeAdapter(description);
                process.stdout.write(`${safeFor(process.stdout, text)}\n`);
            });
        });
}

function addConvert(command: Command, { signal }: Interrupts): void {
    command
        .command('convert')
        .description('write an adapter for another program')
        .argument('<in>', adapterHelp)
        .argument('<out>', 'the directory (peft) or the file (zip, gguf) to write')
        .requiredOption('--model <model>', `the model it belongs to: ${modelHelp}`)
        .addOption(
            new Option('--format <format>', "peft: PEFT's directory; zip: the same in one file; gguf: for llama.cpp and Ollama")
                .choices(['peft', 'zip', 'gguf'])
                .makeOptionMandatory(),
        )
        .addOption(new Option('--type <type>', 'of the numbers').choices(['f32', 'f16', 'bf16', 'q8_0']).default('f32'))
        .option('--force', 'overwrite what is there')
        .addHelpText('after', '\nExample:\n  lapidary adapters convert my-adapter facts.gguf --model builtin --format gguf')
        .action(async (input: string, output: string, flags: ConvertFlags) => {
            const files = await readAdapter(input);
            await withModel(flags.model, signal, async ({ engine, model }) => {
                const adapter = await LoadedAdapter.load(engine, model, files, signal);
                const written = await adapter.export(flags.format, { type: flags.type, signal });
                for (const { name, bytes } of written) {
                    const target = flags.format === 'peft' ? path.join(output, name) : output;
                    await write(target, bytes, flags.force === true);
                    process.stdout.write(`${target}: ${formatBytes(bytes.length)}\n`);
                }
            });
        });
}

interface ConvertFlags {
    model: string;
    format: 'peft' | 'zip' | 'gguf';
    type: string;
    force?: boolean;
}

function addMerge(command: Command, { signal }: Interrupts): void {
    command
        .command('merge')
        .description('write a model with adapters worked into its weights')
        .argument('<model>', modelHelp)
        .argument('<adapter[:scale]...>', adapterHelp)
        .requiredOption('--out <file>', 'the GGUF file to write')
        .addOption(
            new Option('--type <type>', 'the type of most weights; same: as they are')
                .choices(['same', 'q8_0', 'q4_0', 'q4_k_m', 'f16', 'bf16', 'f32'])
                .default('same'),
        )
        .option('--force', 'overwrite the file when it exists')
        .addHelpText('after', '\nExample:\n  lapidary adapters merge builtin facts.gguf --out learnt.gguf --type q8_0')
        .action(async (argument: string, wanted: string[], flags: { out: string; type: string; force?: boolean }) => {
            const adapters: AdapterArgument[] = wanted.map(parseAdapter);
            await withModel(argument, signal, async (open) => {
                const { model, origin } = open;
                if (await isSameFile(flags.out, origin)) {
                    throw new LapidaryError('invalid_argument', `'${flags.out}' is the model itself; choose another name`);
                }
                const uses = await useAdapters(open, adapters, signal);
                const sink = await createOutput(flags.out, flags.force === true);
                const progress = new ProgressLine('merging', 'bytes');
                const result = await withSink(sink, () =>
                    model.merge(uses, flags.type, sink, { onProgress: progress.update, signal }),
                ).finally(() => progress.clear());
                const { bytes } = result;
                if (typeof bytes === 'number') process.stdout.write(`${flags.out}: ${formatBytes(bytes)}\n`);
            });
        });
}

async function write(file: string, bytes: Uint8Array, force: boolean): Promise<void> {
    await fs.mkdir(path.dirname(path.resolve(file)), { recursive: true }).catch((error: unknown) => {
        throw fileError(error, path.dirname(file), 'written');
    });
    const sink = await createOutput(file, force);
    await withSink(sink, () => sink.write(0, bytes));
}

/** For people: what it is called, what it changes and how much. */
function describeAdapter(description: JsonObject): string {
    const list = (key: string) => (Array.isArray(description[key]) ? description[key].map(String) : []);
    const rows: [string, string][] = [
        ['name', String(description['name'] ?? '')],
        ['format', String(description['format'] ?? '')],
        ['trained on', String(description['base_model'] ?? '')],
        ['rank', list('ranks').join(', ')],
        ['alpha', String(description['alpha'] ?? '')],
        ['targets', list('targets').join(', ')],
        ['layers', ranges(list('layers').map(Number))],
        ['parameters', Number(description['parameters'] ?? 0).toLocaleString('en-US')],
        ['ignored', list('ignored').join(', ')],
    ];
    return rows.flatMap(([key, value]) => (value === '' ? [] : [`${key.padEnd(12)}${value}`])).join('\n');
}

/** [0, 1, 2, 5] → "0–2, 5" */
function ranges(numbers: readonly number[]): string {
    const out: string[] = [];
    for (let i = 0; i < numbers.length; i++) {
        const first = i;
        while (numbers[i + 1] === (numbers[i] ?? 0) + 1) i++;
        out.push(first === i ? `${numbers[i]}` : `${numbers[first]}–${numbers[i]}`);
    }
    return out.join(', ');
}
