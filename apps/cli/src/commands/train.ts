// lapidary train: an adapter that has learnt from a file of examples.
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { Option, type Command } from 'commander';
import { LapidaryError, type Backend, type Engine, type Methods, type Model } from 'lapidary';
import { fileError } from 'lapidary/node';
import { backendOption, loadWeights, type BackendFlag } from '../backend.js';
import type { Interrupts } from '../interrupt.js';
import { modelHelp, withModel } from '../model-argument.js';
import { parseInteger, parseNumber } from '../numbers.js';
import { formatBytes, safeFor } from '../terminal.js';
import { writeWhole } from '../whole-files.js';

type Create = Methods['train.create']['args'];

interface Flags {
    data: string;
    out: string;
    backend: BackendFlag;
    rank: number;
    alpha?: number;
    targets: string[];
    layers?: number[];
    lr: number;
    epochs: number;
    steps?: number;
    seq: number;
    batch: number;
    accumulate: number;
    schedule: Create['schedule'];
    warmup: number;
    dropout: number;
    weightDecay: number;
    seed: number;
    validation: number;
    checkpointing: boolean;
    checkpointEvery: number;
    every?: number;
    resume?: boolean;
    overwrite?: boolean;
    sample?: string[];
}

const list = (text: string) => text.split(',').filter((word) => word !== '');
const collect = (text: string, before: string[] = []) => [...before, text];
const checkpointFile = 'checkpoint.safetensors';
/** What a training leaves behind; PEFT's names are fixed. */
const results = [checkpointFile, 'adapter.gguf', 'adapter_model.safetensors', 'adapter_config.json'];

export function addTrain(program: Command, interrupts: Interrupts): void {
    const count = (max: number) => parseInteger({ min: 1, max });
    const share = parseNumber({ min: 0, max: 1 });
    program
        .command('train')
        .description('train an adapter (LoRA) on a file of examples')
        .argument('<model>', modelHelp)
        .requiredOption('--data <file>', 'examples: JSONL (messages, prompt and completion, instruction and output), CSV or text')
        .requiredOption('--out <directory>', 'where the adapter goes, and checkpoints')
        .addOption(backendOption())
        .option('--rank <n>', 'of the updates: more can learn more', count(256), 16)
        .option('--alpha <n>', 'updates count alpha / rank times; twice the rank unless given', parseNumber({ min: 1e-3, max: 1e5 }))
        .option('--targets <names>', 'the matrices that are updated', list, list('q,k,v,o,gate,up,down'))
        .option('--layers <numbers>', 'only these layers, such as 4,5,6', (text) => list(text).map(Number))
        .option('--lr <rate>', 'the highest learning rate', parseNumber({ min: 0, max: 1 }), 2e-4)
        .option('--epochs <n>', 'how often every example is seen', count(1e6), 1)
        .option('--steps <n>', 'end after so many steps', count(1e9))
        .option('--seq <tokens>', 'longest sequence; short examples share one', parseInteger({ min: 2, max: 131072 }), 512)
        .option('--batch <n>', 'examples that go through the model together', count(4096), 4)
        .option('--accumulate <n>', 'batches that make one step', count(4096), 1)
        .addOption(new Option('--schedule <name>', 'of the learning rate').choices(['constant', 'linear', 'cosine']).default('cosine'))
        .option('--warmup <share>', 'of the steps, in which the learning rate grows', share, 0.03)
        .option('--dropout <share>', 'of the inputs of an update that are left out', share, 0)
        .option('--weight-decay <n>', 'how fast unused numbers shrink', parseNumber({ min: 0, max: 10 }), 0.01)
        .option('--seed <n>', 'another one gives another order and another start', parseInteger({ min: 0, max: 2 ** 52 }), 0)
        .option('--validation <share>', 'of the examples that are kept back to measure with', share, 0)
        .option('--no-checkpointing', 'keep every activation: faster, with more memory')
        .option('--checkpoint-every <steps>', 'how often the state is saved', count(1e9), 50)
        .option('--every <steps>', 'between two validations and samples', count(1e9))
        .option('--resume', 'go on from the checkpoint in OUT')
        .addOption(new Option('--overwrite', 'replace the training that is in OUT').conflicts('resume'))
        .option('--sample <prompt>', 'show what the model answers now and then (may be repeated)', collect)
        .addHelpText('after', '\nExample:\n  lapidary train builtin --data facts.jsonl --out facts --lr 2e-3 --epochs 40')
        .action(async (argument: string, flags: Flags) => {
            const data = await readFile(flags.data);
            await makeDirectory(flags.out);
            if (!flags.resume && !flags.overwrite) await refuseToReplace(flags.out);
            const saved = flags.resume ? await readFile(path.join(flags.out, checkpointFile)) : undefined;
            await withModel(argument, interrupts.signal, async ({ engine, model }) => {
                const backend = await loadWeights(model, flags.backend, interrupts.signal);
                await train(engine, model, backend, flags, data, saved, interrupts);
            });
        });
}

async function train(
    engine: Engine,
    model: Model,
    backend: Backend,
    flags: Flags,
    data: Uint8Array,
    saved: Uint8Array | undefined,
    { signal }: Interrupts,
): Promise<void> {
    const say = (text: string) => void process.stdout.write(`${safeFor(process.stdout, text)}\n`);
    const read = await engine.call('data.read', { model: model.number, longest: flags.seq }, { blob: data, signal });
    for (const { line, message } of read.json.errors) process.stderr.write(`lapidary: ${flags.data}:${line}: ${message}\n`);
    const created = await engine.call('train.create', settingsOf(flags, model, backend, read.json.data), { signal });
    const { train, plan } = created.json;
    const training = { train };
    const { memory = 0 } = plan;
    say(
        `${plan.examples} examples, ${plan.validation_examples} for validation, ${plan.steps} steps, ` +
            `${plan.parameters} numbers to train${memory > 0 ? `, ${formatBytes(memory)} beside the model` : ''}`,
    );
    const line = new StepLine();
    let kept: number | undefined;
    if (saved) {
        kept = (await engine.call('train.restore', training, { blob: saved, signal })).json.step;
        say(`goes on after step ${kept}`);
    }
    const save = async () => {
        const { json: at, blob } = await engine.call('train.save', training);
        try {
            await writeWhole(flags.out, [{ name: checkpointFile, bytes: blob }]);
        } catch (error) {
            line.end();
            if (kept !== undefined) say(`the checkpoint after step ${kept} is as it was; --resume goes on from there`);
            throw error;
        }
        return (kept = at.step);
    };
    for (;;) {
        // In pieces: after each the state is on the disk. Ctrl-C lets the engine end the step it is at.
        try {
            const { json: at } = await engine.call('train.run', { ...training, at_most: flags.checkpointEvery }, {
                signal,
                onEvent: (event) => line.show(event),
            });
            if (at.finished) break;
            await save();
        } catch (error) {
            const stopped = error instanceof LapidaryError && error.code === 'cancelled' && signal.aborted;
            if (!stopped || !engine.usable) throw error;
            const step = await save();
            line.end();
            say(`stopped after step ${step}; --resume goes on from ${path.join(flags.out, checkpointFile)}`);
            throw error;
        }
    }
    line.end();
    await save();
    const made = await engine.call('train.adapter', { ...training, name: path.basename(path.resolve(flags.out)) });
    const files: { name: string; bytes: Uint8Array }[] = [];
    for (const format of ['peft', 'gguf'] as const) {
        const exported = await engine.call('adapter.export', { adapter: made.json.adapter, format });
        for (const { name, offset, size } of exported.json.files) {
            const bytes = exported.blob.slice(offset, offset + size);
            // PEFT looks for its files by their names; the GGUF file may be called anything.
            files.push({ name: format === 'gguf' ? 'adapter.gguf' : path.basename(name), bytes });
        }
    }
    await writeWhole(flags.out, files);
    for (const { name, bytes } of files) say(`${path.join(flags.out, name)}: ${formatBytes(bytes.length)}`);
}

function settingsOf(flags: Flags, model: Model, backend: Backend, data: number): Create {
    return {
        model: model.number,
        data,
        backend,
        rank: flags.rank,
        alpha: flags.alpha,
        targets: flags.targets,
        layers: flags.layers,
        lr: flags.lr,
        epochs: flags.epochs,
        steps: flags.steps,
        seq: flags.seq,
        batch: flags.batch,
        accumulate: flags.accumulate,
        schedule: flags.schedule,
        warmup: flags.warmup,
        dropout: flags.dropout,
        weight_decay: flags.weightDecay,
        seed: flags.seed,
        validation: flags.validation,
        checkpointing: flags.checkpointing,
        every: flags.every,
        samples: flags.sample,
    };
}

/** What happens, on one line that changes; where nobody watches, on a line for every tenth of the way. */
class StepLine {
    private visible = false;
    private told = 0;
    private speed = 0;

    show(event: Methods['train.run']['event']): void {
        const { step } = event;
        if (event.type === 'sample') return this.say(`step ${step}: ${event.prompt} → ${event.text.trim()}`);
        const loss = (event.loss ?? NaN).toFixed(4);
        if (event.type === 'validation') return this.say(`step ${step}: validation loss ${loss}`);
        const { steps, tokens_per_second: speed } = event;
        this.speed = this.speed === 0 ? speed : 0.9 * this.speed + 0.1 * speed;
        const left = ((steps - step) * event.tokens) / this.speed;
        const text =
            `step ${step}/${steps}  loss ${loss}  lr ${event.lr.toExponential(2)}  ` +
            `${this.speed.toFixed(0)} tok/s  ${formatSeconds(left)} left`;
        if (process.stderr.isTTY) {
            process.stderr.write(`\r${text.slice(0, (process.stderr.columns || 80) - 1)}\u001b[K`);
            this.visible = true;
        } else if (step === steps || Math.floor((10 * step) / steps) > this.told) {
            this.told = Math.floor((10 * step) / steps);
            process.stderr.write(`${text}\n`);
        }
    }

    end(): void {
        if (this.visible) process.stderr.write('\n');
        this.visible = false;
    }

    private say(text: string): void {
        if (this.visible) process.stderr.write('\r\u001b[K');
        this.visible = false;
        process.stdout.write(`${safeFor(process.stdout, text)}\n`);
    }
}

function formatSeconds(seconds: number): string {
    if (!Number.isFinite(seconds)) return '?';
    const whole = Math.round(seconds);
    return whole < 100 ? `${whole} s` : `${Math.floor(whole / 60)} min`;
}

async function readFile(file: string): Promise<Uint8Array> {
    return await fs.readFile(file).catch((error: unknown) => {
        throw fileError(error, file, 'read');
    });
}

/** Hours of work may lie there. */
async function refuseToReplace(folder: string): Promise<void> {
    for (const name of results) {
        const file = path.join(folder, name);
        const there = await fs.lstat(file).catch(() => undefined);
        if (!there) continue;
        throw new LapidaryError(
            'invalid_argument',
            `'${file}' is from another training: --resume goes on with that, another --out keeps it, --overwrite replaces it`,
        );
    }
}

async function makeDirectory(directory: string): Promise<void> {
    await fs.mkdir(directory, { recursive: true }).catch((error: unknown) => {
        throw fileError(error, directory, 'written');
    });
}
