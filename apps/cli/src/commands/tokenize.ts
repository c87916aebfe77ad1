// lapidary tokenize and detokenize: text ↔ ids, with the model's own vocabulary.
import type { Command } from 'commander';
import { readStandardInput } from '../input.js';
import type { Interrupts } from '../interrupt.js';
import { modelHelp, withModel } from '../model-argument.js';
import { parseTokensOption } from '../numbers.js';
import { safeFor } from '../terminal.js';

interface TokenizeFlags {
    text?: string;
    bos: boolean;
    special: boolean;
    json?: boolean;
}

export function addTokenize(program: Command, interrupts: Interrupts): void {
    program
        .command('tokenize')
        .description('turn text into token ids')
        .argument('<model>', modelHelp)
        .option('--text <text>', 'the text; read from standard input when left out')
        .option('--no-bos', 'do not put the beginning-of-text token first')
        .option('--no-special', 'treat the names of special tokens as plain text')
        .option('--json', 'as JSON, with the text of each token')
        .addHelpText('after', '\nExample:\n  lapidary tokenize builtin --text "Once upon a time"')
        .action(async (argument: string, flags: TokenizeFlags) => {
            const text = flags.text ?? (await readStandardInput(interrupts.signal));
            await withModel(argument, interrupts.signal, async ({ model }) => {
                const { tokens, pieces } = await model.tokenize(text, {
                    addBos: flags.bos,
                    parseSpecial: flags.special,
                    pieces: flags.json === true,
                });
                const shown = flags.json ? JSON.stringify({ tokens: [...tokens], pieces }) : tokens.join(' ');
                process.stdout.write(`${shown}\n`);
            });
        });
}

export function addDetokenize(program: Command, interrupts: Interrupts): void {
    program
        .command('detokenize')
        .description('turn token ids into text')
        .argument('<model>', modelHelp)
        .argument('<ids...>', 'token ids, separated by spaces or commas', (text, list: number[] = []) => [
            ...list,
            ...parseTokensOption(text),
        ])
        .option('--no-special', 'leave special tokens out')
        .addHelpText('after', '\nExample:\n  lapidary detokenize builtin 2,10979,3501')
        .action(async (argument: string, ids: number[], flags: { special: boolean }) => {
            await withModel(argument, interrupts.signal, async ({ model }) => {
                const text = await model.detokenize(Int32Array.from(ids), { special: flags.special });
                process.stdout.write(`${safeFor(process.stdout, text)}\n`);
            });
        });
}
