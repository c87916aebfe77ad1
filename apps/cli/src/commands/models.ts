// lapidary models: what was downloaded, what Ollama has on this computer, and what can be had by name.
import type { Command } from 'commander';
import { LapidaryError, formatBytes, type ListedModel } from 'lapidary';
import { catalogue, predict, type Check, type Device, type KeptModel } from 'lapidary/hub';
import { findStores, keptModelsHere, keptPath, modelsFolder, storeCandidates, thisComputer } from 'lapidary/node';
import type { Interrupts } from '../interrupt.js';
import { thisDevice, verdictOf } from '../pull/device.js';
import { ProgressLine, formatBytes as formatBinary, formatTable, safeFor } from '../terminal.js';

interface Flags {
    json?: boolean;
    available?: boolean;
    verify?: string | true;
}

type Listed = ListedModel & { store: string };

export function addModels(program: Command, interrupts: Interrupts): void {
    program
        .command('models')
        .description('list the models on this computer, or those that can be had')
        .option('--available', "what 'lapidary pull' gets by name")
        .option('--verify [name]', 'read what was downloaded and compare it with its checksums')
        .option('--json', 'as JSON')
        .addHelpText('after', '\nExample:\n  lapidary models --available')
        .action(async ({ json, available, verify }: Flags) => {
            const print = (text: string, value: unknown) => {
                const shown = json ? JSON.stringify(value, null, 2) : text;
                process.stdout.write(`${safeFor(process.stdout, shown)}\n`);
            };
            if (available) {
                const device = await thisDevice();
                return print(describeCatalogue(device), catalogue.map((entry) => ({ ...entry, prediction: predict(entry.bytes, device) })));
            }
            if (verify !== undefined) {
                const checks = await verifyModels(verify === true ? undefined : verify, interrupts.signal);
                print(describeChecks(checks), checks);
                const damaged = checks.filter(({ ok }) => !ok);
                if (damaged.length === 0) return;
                throw new LapidaryError('bad_file', `${damaged[0]?.model} is damaged: 'lapidary pull ${damaged[0]?.model}' mends it`);
            }
            const kept = await keptModelsHere().list();
            const listed: Listed[] = [];
            for (const store of await findStores()) {
                for (const model of await store.list()) listed.push({ ...model, store: store.directory.label });
            }
            print([describeKept(kept), describeOllama(listed)].join('\n\n'), [...kept.map(keptJson), ...listed]);
        });
}

function describeKept(models: readonly KeptModel[]): string {
    if (models.length === 0) {
        return `no model was downloaded yet (to ${modelsFolder()}); 'lapidary models --available' lists what can be had`;
    }
    const rows = models.map(({ name, have, bytes, quantisation, state, checked, reference }) => [
        name,
        state === 'complete' ? formatBytes(bytes ?? have) : `${formatBytes(have)} of ${bytes === undefined ? '?' : formatBytes(bytes)}`,
        quantisation ?? '',
        state === 'partial' ? `'lapidary pull ${reference}' goes on` : checked ? 'checked' : 'not checked',
        reference === name ? '' : reference,
    ]);
    return formatTable([['DOWNLOADED', 'SIZE', 'TYPE', 'STATE', 'FROM'], ...rows], [false, true]).join('\n');
}

function keptJson(model: KeptModel): object {
    const files = model.files.map((file) => ({ ...file, ...(file.key === undefined ? {} : { path: keptPath(file.key) }) }));
    return { ...model, files, store: modelsFolder() };
}

function describeOllama(models: readonly Listed[]): string {
    if (models.length === 0) {
        return `no Ollama models found (looked in ${storeCandidates(thisComputer()).join(', ')})`;
    }
    const rows = models.map((model) => [
        model.name,
        formatBinary(model.bytes),
        model.family ?? '',
        model.parameters ?? '',
        model.quantization ?? '',
        model.problem ?? '',
    ]);
    const header = ["OLLAMA'S", 'SIZE', 'FAMILY', 'PARAMETERS', 'TYPE', ''];
    return formatTable([header, ...rows], [false, true]).join('\n');
}

function describeCatalogue(device: Device): string {
    const rows = catalogue.map(({ names, title, bytes, quantisation, sources, about }) => {
        const prediction = predict(bytes, device);
        const { fits, tokensPerSecond, pace } = prediction;
        const builtin = sources[0]?.kind === 'builtin';
        const speed = !fits || tokensPerSecond === undefined ? '' : `≈ ${tokensPerSecond} tokens/s, ${pace}`;
        return [names[0] ?? title, title, builtin ? 'here' : `≈ ${formatBytes(bytes.about)}`, quantisation, verdictOf(prediction), speed, about];
    });
    return formatTable([['NAME', 'MODEL', 'SIZE', 'TYPE', 'HERE', '', ''], ...rows], [false, false, true]).join('\n');
}

async function verifyModels(name: string | undefined, signal: AbortSignal): Promise<(Check & { model: string })[]> {
    const models = keptModelsHere();
    const one = name === undefined ? undefined : await models.find(name);
    if (name !== undefined && !one) throw new LapidaryError('not_found', `there is no model '${name}' in ${modelsFolder()}`);
    const checks: (Check & { model: string })[] = [];
    for (const model of one ? [one] : await models.list()) {
        const line = new ProgressLine(`checking ${model.name}`, 'bytes');
        try {
            const found = await models.verify(model, { signal, onProgress: line.update });
            checks.push(...found.map((check) => ({ ...check, model: model.name })));
        } finally {
            line.clear();
        }
    }
    return checks;
}

function describeChecks(checks: readonly (Check & { model: string })[]): string {
    if (checks.length === 0) return `no model was downloaded yet (to ${modelsFolder()})`;
    return formatTable(checks.map(({ model, file, ok, problem, sha256 }) => [model, file, ok ? 'good' : 'damaged', problem ?? sha256 ?? ''])).join('\n');
}
