// lapidary embed: texts as vectors.
import { Option, type Command } from 'commander';
import { LapidaryError, embedTexts, shortened } from 'lapidary';
import { adapterOption, useAdapters, type AdapterArgument } from '../adapters.js';
import { backendOption, loadWeights, type BackendFlag } from '../backend.js';
import { UsageError } from '../errors.js';
import { readStandardInput, readTextFile } from '../input.js';
import type { Interrupts } from '../interrupt.js';
import { modelHelp, withModel } from '../model-argument.js';
import { parseInteger } from '../numbers.js';
import { ProgressLine } from '../terminal.js';

interface Flags {
    text: string[];
    file: string[];
    dimensions?: number;
    task?: string;
    title?: string;
    truncate: boolean;
    context?: number;
    backend: BackendFlag;
    json?: boolean;
    adapter?: AdapterArgument[];
}

const more = (text: string, list: string[]) => [...list, text];

export function addEmbed(program: Command, interrupts: Interrupts): void {
    program
        .command('embed')
        .description('turn texts into vectors of length 1; near ones mean similar things')
        .argument('<model>', `${modelHelp}; of embeddings, or any other`)
        .option('--text <text>', 'a text; give it again for more', more, [])
        .option('--file <file>', "a text on each line that is not empty; '-' is standard input", more, [])
        .option('--dimensions <n>', 'the first so many numbers of each vector, of length 1 again', parseInteger({ min: 1, max: 2 ** 20 }))
        .option(
            '--task <name>',
            'what the vectors are for, of a model of embeddings: query, document, similarity, classification, clustering, ' +
                'question-answering, fact-checking, code or summarization; the texts as they are unless told',
        )
        .option('--title <title>', 'what the texts are called, with --task document')
        .option('--no-truncate', 'refuse texts that are too long, instead of cutting them')
        .option('--context <n>', 'read so many tokens of a text at most', parseInteger({ min: 1, max: 2 ** 31 - 1 }))
        .addOption(backendOption())
        .addOption(adapterOption())
        .addOption(new Option('--json', 'one object, {"embeddings": [[…], …]}, instead of a line for each text'))
        .addHelpText('after', '\nExample:\n  lapidary embed embeddinggemma --task query --text "Which planet is red?" --json')
        .action(async (argument: string, flags: Flags) => {
            const { signal } = interrupts;
            const input = await textsOf(flags, signal);
            await withModel(argument, signal, async (open) => {
                const { model } = open;
                const description = await model.describe(signal);
                const adapters = await useAdapters(open, flags.adapter, signal);
                await loadWeights(model, flags.backend, signal);
                if (description.embedding_size === undefined) {
                    process.stderr.write('lapidary: this is no model of embeddings: each vector is the mean of the last hidden states\n');
                }
                const { context, truncate, task, title, dimensions } = flags;
                const session = await model.createSession({ signal, ...(context === undefined ? {} : { context }) });
                const progress = new ProgressLine('embedding', 'texts');
                const { vectors, truncated } = await embedTexts(model, session, { input, truncate, task, title }, adapters, {
                    signal,
                    onProgress: progress.update,
                }).finally(() => progress.clear());
                if (truncated > 0) {
                    process.stderr.write(`lapidary: ${truncated} of the texts were longer than ${session.context} tokens and were cut\n`);
                }
                const embeddings = vectors.map((vector) => [...(dimensions === undefined ? vector : shortened(vector, dimensions))]);
                const lines = flags.json ? [JSON.stringify({ embeddings })] : embeddings.map((vector) => JSON.stringify(vector));
                process.stdout.write(`${lines.join('\n')}\n`);
            });
        });
}

async function textsOf({ text, file }: Flags, signal: AbortSignal): Promise<string[]> {
    const texts = [...text];
    for (const name of file) {
        const all = name === '-' ? await readStandardInput(signal) : await readTextFile(name);
        texts.push(...all.split(/\r?\n/).filter((line) => line.trim() !== ''));
    }
    if (texts.length === 0) throw new UsageError('there is nothing to embed: give --text or --file');
    if (texts.includes('')) throw new LapidaryError('invalid_argument', 'an empty text has no vector');
    return texts;
}
