// lapidary pull: get a model. Says what it is, how large, whether it would run here and under which licence, first.
import type { Command } from 'commander';
import { LapidaryError, formatBytes, messageOf } from 'lapidary';
import { problemOf, projectorOf, resolveModel, weightOf, withProjector, type KeptModel, type KeptModels, type Licence, type ModelFile, type ResolvedModel } from 'lapidary/hub';
import { keptModelsHere, modelsFolder } from 'lapidary/node';
import { UsageError } from '../errors.js';
import type { Interrupts } from '../interrupt.js';
import { askYesNo, canAsk } from '../pull/ask.js';
import { describeFit, thisDevice } from '../pull/device.js';
import { PullLine } from '../pull/progress.js';
import { formatTable, safeFor } from '../terminal.js';

interface Flags {
    yes?: boolean;
    media: boolean;
}

const examples = `
Example:
  lapidary pull e2b                                a name of 'lapidary models --available'
  lapidary pull gemma4:e2b                         a name of Ollama's
  lapidary pull hf:ggml-org/gemma-4-E4B-it-GGUF    a repository of Hugging Face; a file or :Q8_0 behind it chooses
  lapidary pull https://example.org/model.gguf     any address

HF_TOKEN is sent to Hugging Face, for models that need an account. LAPIDARY_MODELS is the folder they go to.`;

export function addPull(program: Command, interrupts: Interrupts): void {
    program
        .command('pull')
        .description('get a model')
        .argument('<model>', 'a name, hf:OWNER/REPO[/FILE], or an address')
        .option('-y, --yes', 'agree to its licence without being asked')
        .option('--no-media', 'without the file that lets it see and hear')
        .addHelpText('after', examples)
        .action(async (argument: string, flags: Flags) => {
            const { signal } = interrupts;
            const models = keptModelsHere();
            const found = await resolveOrSayWhy(argument, models, signal);
            if (!found) return;
            const model = flags.media ? withProjector(found) : found;
            if (model.source === 'builtin') return say(`${model.title} comes with Lapidary: there is nothing to get`);
            if (model.problem !== undefined) throw new LapidaryError('unsupported', `${model.title} cannot be used: ${model.problem}`);
            const here = await models.find(model.name);
            if (here && isSame(here, model)) return say(sentenceOf(here, 'is here already'));
            // The source it came from may be out of reach just now. A complete model is not replaced by another source's file.
            if (here?.state === 'complete' && here.source !== model.source) return say(hereAnyway(here));
            await introduce(found, flags.media ? projectorOf(found) : undefined, here, flags, signal);
            await download(model, models, signal);
        });
}

/** Undefined when there is no need for its source, which cannot be reached. */
async function resolveOrSayWhy(
    argument: string,
    models: KeptModels,
    signal: AbortSignal,
): Promise<ResolvedModel | undefined> {
    try {
        return await resolveModel(argument, { signal });
    } catch (error) {
        const here = await models.find(argument).catch(() => undefined);
        const { kind } = problemOf(error);
        if (here?.state === 'complete' && (kind === 'offline' || kind === 'busy')) {
            say(hereAnyway(here));
            return undefined;
        }
        if (kind !== 'missing' || /[/]/.test(argument)) throw error;
        const how = "'lapidary models --available' lists names, 'lapidary search' looks on Hugging Face";
        throw new LapidaryError('not_found', `${messageOf(error)}; ${how}`, { cause: error });
    }
}

function hereAnyway(here: KeptModel): string {
    return `${sentenceOf(here, 'is here already')}; its source cannot be asked for a newer one now`;
}

/** Whether it is complete and the very files that the source has now. */
function isSame(here: KeptModel, { files }: ResolvedModel): boolean {
    const version = ({ sha256, url, validator }: Pick<ModelFile, 'sha256' | 'url' | 'validator'>) => sha256 ?? `${url} ${validator}`;
    return here.state === 'complete' && here.files.map(version).join('\n') === files.map(version).join('\n');
}

async function introduce(
    model: ResolvedModel,
    projector: ModelFile | undefined,
    here: KeptModel | undefined,
    flags: Flags,
    signal: AbortSignal,
): Promise<void> {
    const { title, bytes, quantisation, licence, page, files, gated, checked, entry } = model;
    const size = bytes === undefined ? 'of unknown size' : formatBytes(bytes);
    const weight = bytes === undefined ? entry?.bytes : weightOf(files[0]?.name ?? '', bytes);
    const fit = weight ? describeFit(weight, await thisDevice()) : undefined;
    const rows = [
        ['model', [title, quantisation, size].filter((part) => part !== undefined && !title.endsWith(` ${part}`)).join(', ')],
        ...(projector ? [['media', `${sizeOf(projector)} more for pictures and sounds; --no-media leaves it`]] : []),
        ['from', page ?? model.reference],
        ...(fit ? [['memory', fit.text]] : []),
        ['licence', licence ? `${licence.name} (${licence.url})` : 'none is named; look at its page'],
        ...(licence?.summary ?? []).map((line) => ['', line]),
        ...(gated ? [['account', 'needed: agree at its page, and set HF_TOKEN']] : []),
        ...(checked ? [] : [['check', 'its source names no checksum, so it cannot be compared with one']]),
        ...(here && here.have > 0 && here.state === 'partial' ? [['here', `${formatBytes(here.have)}; it goes on from there`]] : []),
    ];
    process.stderr.write(`${safeFor(process.stderr, formatTable(rows).join('\n'))}\n`);
    if (flags.yes) return;
    if (needsAgreement(licence)) await agree(model, signal);
    else if (fit && !fit.fits && canAsk() && !(await askYesNo('Get it all the same?', signal))) throw declined();
}

function sizeOf({ bytes }: ModelFile): string {
    return bytes === undefined ? 'a file' : formatBytes(bytes);
}

/** Where no licence is named there is nothing to agree to; `introduce` has said so. */
function needsAgreement(licence: Licence | undefined): boolean {
    return licence?.mustAgree ?? false;
}

async function agree({ title, licence }: ResolvedModel, signal: AbortSignal): Promise<void> {
    if (!canAsk()) {
        throw new UsageError(`${title} has a licence to agree to, ${licence?.name} (${licence?.url}): read it and give --yes`);
    }
    if (!(await askYesNo('Do you agree to its licence?', signal))) throw declined();
}

function declined(): LapidaryError {
    return new LapidaryError('invalid_argument', 'nothing was downloaded');
}

async function download(model: ResolvedModel, models: KeptModels, signal: AbortSignal): Promise<void> {
    const line = new PullLine();
    try {
        const kept = await models.pull(model, {
            signal,
            onProgress: (progress) => line.update(progress),
        });
        line.clear();
        say(sentenceOf(kept, 'is here'));
    } catch (error) {
        line.clear();
        // What lies on the disk, not what was reported: reports come now and then.
        const here = await models.find(model.name).catch(() => undefined);
        throw explained(error, model, here?.have ?? 0);
    }
}

/** With what to do about it. */
function explained(error: unknown, model: ResolvedModel, have: number): unknown {
    const { kind, sentence, detail } = problemOf(error);
    const again = `'lapidary pull ${model.reference}'`;
    const of = model.bytes === undefined ? '' : ` of ${formatBytes(model.bytes)}`;
    const kept = have > 0 ? `${formatBytes(have)}${of} are kept, and ${again} goes on from there` : `${again} tries again`;
    const say = (text: string) => new LapidaryError('io', text, { cause: error });
    switch (kind) {
        case 'stopped':
            process.stderr.write(`\nstopped: ${kept}\n`);
            return error;
        case 'account': {
            const where = model.page ?? 'its page';
            return say(`${sentence} Log in at ${where}, agree there, and give the token of your account in HF_TOKEN.`);
        }
        case 'busy':
        case 'offline':
            return say(`${kind === 'busy' ? sentence : `${detail}.`} ${kept}`);
        case 'full':
            return say(`${sentence} ${kept}; LAPIDARY_MODELS can name another folder than ${modelsFolder()}`);
        default:
            return kind === 'other' ? error : say(`${sentence} ${again} tries again`);
    }
}

function sentenceOf({ name, bytes, have, checked, files }: KeptModel, what: string): string {
    const check = checked ? 'compared with its checksum' : 'not checked: its source names no checksum';
    const pieces = files.length > 1 ? `, ${files.length} files` : '';
    return `${name} ${what} (${formatBytes(bytes ?? have)}${pieces}, ${check}); 'lapidary chat ${name}' talks to it`;
}

function say(text: string): void {
    process.stdout.write(`${safeFor(process.stdout, text)}\n`);
}
