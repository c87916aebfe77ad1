// lapidary models: what Ollama has on this computer.
import type { Command } from 'commander';
import type { ListedModel } from 'lapidary';
import { findStores, storeCandidates, thisComputer } from 'lapidary/node';
import { formatBytes, formatTable, safeFor } from '../terminal.js';

export function addModels(program: Command): void {
    program
        .command('models')
        .description('list the Ollama models on this computer')
        .option('--json', 'as JSON')
        .addHelpText('after', '\nExample:\n  OLLAMA_MODELS=/data/ollama lapidary models')
        .action(async (options: { json?: boolean }) => {
            const listed: (ListedModel & { store: string })[] = [];
            for (const store of await findStores()) {
                for (const model of await store.list()) listed.push({ ...model, store: store.directory.label });
            }
            const text = options.json ? JSON.stringify(listed, null, 2) : describe(listed);
            process.stdout.write(`${safeFor(process.stdout, text)}\n`);
        });
}

function describe(models: readonly ListedModel[]): string {
    if (models.length === 0) {
        return `no Ollama models found (looked in ${storeCandidates(thisComputer()).join(', ')})`;
    }
    const rows = models.map((model) => [
        model.name,
        formatBytes(model.bytes),
        model.family ?? '',
        model.parameters ?? '',
        model.quantization ?? '',
        model.problem ?? '',
    ]);
    const header = ['NAME', 'SIZE', 'FAMILY', 'PARAMETERS', 'TYPE', ''];
    return formatTable([header, ...rows], [false, true]).join('\n');
}
