// lapidary inspect: what is in a model file, from its header alone.
import type { Command } from 'commander';
import { LapidaryError, sha256, verifyLayer, type ByteSource, type KvFormat } from 'lapidary';
import { kvOption } from '../backend.js';
import { describeObject } from '../describe.js';
import type { Interrupts } from '../interrupt.js';
import { modelHelp, withModel, type OpenModel } from '../model-argument.js';
import { ProgressLine, safeFor } from '../terminal.js';

interface Options {
    json?: boolean;
    verify?: boolean;
    kv: KvFormat;
}

export function addInspect(program: Command, interrupts: Interrupts): void {
    program
        .command('inspect')
        .description('show what is in a model')
        .argument('<model>', modelHelp)
        .option('--json', 'as JSON')
        .option('--verify', 'also read every byte and check its SHA-256')
        .addOption(kvOption())
        .addHelpText('after', '\nExample:\n  lapidary inspect gemma4:e2b --verify')
        .action(async (argument: string, options: Options) => {
            const { signal } = interrupts;
            await withModel(argument, signal, async (open) => {
                const description = await open.model.describe(signal, options.kv);
                const digests = options.verify ? await verify(open, signal) : undefined;
                const shown = { origin: open.origin, ...description, ...(digests ? { sha256: digests } : {}) };
                const text = options.json ? JSON.stringify(shown, null, 2) : describeObject(shown).join('\n');
                process.stdout.write(`${options.json ? text : safeFor(process.stdout, text)}\n`);
            });
        });
}

/** The digest of every file; an error where one is known and differs. */
async function verify(open: OpenModel, signal: AbortSignal): Promise<Record<string, string>> {
    const digests: Record<string, string> = {};
    if (open.ollama) {
        const { store, model } = open.ollama;
        for (const layer of model.all) {
            await showing(layer.digest.slice(0, 19), (onProgress) => verifyLayer(store, layer, { onProgress, signal }));
            digests[layer.digest.replace('sha256:', '')] = `good (${layer.mediaType.split('.').pop() ?? ''})`;
        }
        return digests;
    }
    for (const source of open.sources) {
        const digest = await showing(source.name, (onProgress) => sha256(source, { onProgress, signal }));
        digests[digest] = compareWithName(source, digest);
    }
    return digests;
}

async function showing<Result>(
    label: string,
    work: (onProgress: ProgressLine['update']) => Promise<Result>,
): Promise<Result> {
    const progress = new ProgressLine(`checking ${label}`, 'bytes');
    try {
        return await work(progress.update);
    } finally {
        progress.clear();
    }
}

/** A blob of a store, opened as a plain file, still tells its digest by its name. */
function compareWithName(source: ByteSource, digest: string): string {
    const expected = /^sha256-([0-9a-f]{64})$/.exec(source.name)?.[1];
    if (expected === undefined) return `${source.name} (nothing to compare it with)`;
    if (expected === digest) return 'good';
    throw new LapidaryError('bad_file', `'${source.name}' is damaged: its contents have the digest sha256:${digest}`);
}
