// lapidary rm: remove a model that was downloaded.
import type { Command } from 'commander';
import { LapidaryError, formatBytes, tryParseModelName } from 'lapidary';
import { findStores, keptModelsHere, modelsFolder } from 'lapidary/node';
import { safeFor } from '../terminal.js';

export function addRm(program: Command): void {
    program
        .command('rm')
        .description('remove models that were downloaded')
        .argument('<names...>', "names as 'lapidary models' shows them")
        .addHelpText('after', '\nExample:\n  lapidary rm gemma-4-e2b')
        .action(async (names: string[]) => {
            const models = keptModelsHere();
            // All of them are looked for first: a wrong name should not leave half of it done.
            const found = await Promise.all(names.map(async (name) => (await models.find(name)) ?? (await notHere(name))));
            for (const model of found) {
                await models.remove(model);
                const text = `${model.name} was removed (${formatBytes(model.have)})`;
                process.stdout.write(`${safeFor(process.stdout, text)}\n`);
            }
        });
}

async function notHere(name: string): Promise<never> {
    const parsed = tryParseModelName(name);
    for (const store of parsed ? await findStores() : []) {
        if (!parsed || !(await store.resolve(parsed).catch(() => undefined))) continue;
        throw new LapidaryError('invalid_argument', `'${name}' is Ollama's, which removes it with 'ollama rm ${name}'`);
    }
    throw new LapidaryError('not_found', `there is no model '${name}' in ${modelsFolder()}; 'lapidary models' lists what is there`);
}
