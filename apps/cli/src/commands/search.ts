// lapidary search: what Hugging Face has.
import { type Command } from 'commander';
import { formatBytes } from 'lapidary';
import { predict, searchHub, weightOf, type Device, type HubModel, type HubRepository } from 'lapidary/hub';
import type { Interrupts } from '../interrupt.js';
import { parseInteger } from '../numbers.js';
import { thisDevice, verdictOf } from '../pull/device.js';
import { colours, formatTable, safeFor } from '../terminal.js';

interface Flags {
    limit: number;
    any?: boolean;
    json?: boolean;
}

const mostShown = 5;

export function addSearch(program: Command, interrupts: Interrupts): void {
    program
        .command('search')
        .description('look for models on Hugging Face')
        .argument('[words...]', 'what to look for')
        .option('--limit <n>', 'at most so many repositories', parseInteger({ min: 1, max: 50 }), 10)
        .option('--any', 'also what is not called Gemma')
        .option('--json', 'as JSON')
        .addHelpText('after', '\nExample:\n  lapidary search 4 e4b')
        .action(async (words: string[], { limit, any = false, json }: Flags) => {
            const { signal } = interrupts;
            const query = words.join(' ');
            const found = await searchHub(query, { limit, everything: any, signal });
            const text = json ? JSON.stringify(found, null, 2) : describe(found, query, json ? undefined : await thisDevice());
            process.stdout.write(`${safeFor(process.stdout, text)}\n`);
        });
}

function describe(found: readonly HubRepository[], query: string, device: Device | undefined): string {
    const { bold, dim } = colours(process.stdout);
    // Repositories without a file that can be used are left out.
    const shown = found.filter(({ models }) => models.length > 0);
    if (shown.length === 0) return `nothing found for '${query}'`;
    const blocks = shown.map((repository) => {
        const { models } = repository;
        const rows = models.slice(0, mostShown).map((model) => ['', model.quantisation ?? model.file, sizeOf(model), fitOf(model, repository, device)]);
        const more = models.length > mostShown ? [dim(`  and ${models.length - mostShown} more`)] : [];
        return [`${bold(`hf:${repository.repository}`)}  ${dim(about(repository))}`, ...formatTable(rows, [false, false, true]), ...more].join('\n');
    });
    const first = shown[0];
    return `${blocks.join('\n\n')}\n\n${dim(`'lapidary pull hf:${first?.repository}' gets the first of a repository, ':TYPE' behind it another`)}`;
}

function about({ downloads, licence, gated, readable, architecture }: HubRepository): string {
    return [
        ...(downloads === undefined ? [] : [`${downloads} downloads`]),
        licence?.name ?? 'no licence named',
        ...(gated ? ['needs an account'] : []),
        ...(readable === false ? [`cannot be used here (${architecture})`] : []),
    ].join(', ');
}

function sizeOf({ bytes }: HubModel): string {
    return bytes === undefined ? '' : formatBytes(bytes);
}

function fitOf({ file, bytes }: HubModel, { readable }: HubRepository, device: Device | undefined): string {
    if (bytes === undefined || !device || readable === false) return '';
    const prediction = predict(weightOf(file, bytes), device);
    const { fits, tokensPerSecond } = prediction;
    const verdict = verdictOf(prediction);
    return fits && tokensPerSecond !== undefined ? `${verdict}, ≈ ${tokensPerSecond} tokens/s` : verdict;
}
