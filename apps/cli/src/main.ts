// The command line: what there is, and how every command ends. One sentence on stderr for an error, never a stack.
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { LapidaryError, messageOf } from 'lapidary';
import { addAdapters } from './commands/adapters.js';
import { addChat } from './commands/chat.js';
import { addEmbed } from './commands/embed.js';
import { addEncode } from './commands/encode.js';
import { addGenerate } from './commands/generate.js';
import { addGradcheck } from './commands/gradcheck.js';
import { addInspect } from './commands/inspect.js';
import { addLogits } from './commands/logits.js';
import { addModels } from './commands/models.js';
import { addBench } from './commands/bench.js';
import { addDiffuse } from './commands/diffuse.js';
import { addPerplexity } from './commands/perplexity.js';
import { addPull } from './commands/pull.js';
import { addQuantize } from './commands/quantize.js';
import { addRm } from './commands/rm.js';
import { addSearch } from './commands/search.js';
import { addServe } from './commands/serve.js';
import { addSelfTest } from './commands/selftest.js';
import { addSynth } from './commands/synth.js';
import { addTrain } from './commands/train.js';
import { addDetokenize, addTokenize } from './commands/tokenize.js';
import { UsageError, exitStatus } from './errors.js';
import { Interrupts } from './interrupt.js';
import { safeFor, type Stream } from './terminal.js';

const examples = `
A model is one that was downloaded, a GGUF file, an http(s) URL, a model of the Ollama on this computer, or 'builtin'. Where
there is a GPU it is used.

Examples:
  lapidary chat                            talk to the built-in model
  lapidary pull e2b                        get Gemma 4 E2B
  lapidary chat e2b                        talk to it, or to a model of Ollama's
  echo "Once upon a time" | lapidary generate builtin
  lapidary serve                           the web app, and the APIs of OpenAI and Ollama

'lapidary help COMMAND' explains a command.`;

function createProgram(interrupts: Interrupts, stderr: Stream): Command {
    const program = new Command('lapidary')
        .description('Gemma 4 on your own computer')
        .version(version())
        .configureOutput({
            writeErr: (text) => void stderr.write(text),
            // Commander says "error: …"; everything of ours starts with the program's name.
            outputError: (text, write) => write(text.replace(/^error: /, 'lapidary: ')),
        })
        .addHelpText('after', examples)
        .exitOverride();
    // As help shows them: what people come for, then what they measure and check with.
    addChat(program, interrupts);
    addGenerate(program, interrupts);
    addEmbed(program, interrupts);
    addServe(program, interrupts);
    addPull(program, interrupts);
    addSearch(program, interrupts);
    addModels(program, interrupts);
    addRm(program);
    addInspect(program, interrupts);
    addTrain(program, interrupts);
    addAdapters(program, interrupts);
    addQuantize(program, interrupts);
    addTokenize(program, interrupts);
    addDetokenize(program, interrupts);
    addBench(program, interrupts);
    addPerplexity(program, interrupts);
    addLogits(program, interrupts);
    addEncode(program, interrupts);
    addDiffuse(program, interrupts);
    addSynth(program, interrupts);
    addGradcheck(program, interrupts);
    addSelfTest(program, interrupts);
    return program;
}

/** Runs one command line and returns the exit status. */
export async function main(args: readonly string[], stderr: Stream = process.stderr): Promise<number> {
    const interrupts = new Interrupts();
    try {
        await createProgram(interrupts, stderr).parseAsync(args, { from: 'user' });
        return 0;
    } catch (error) {
        return explain(error, interrupts, stderr);
    } finally {
        interrupts.stopListening();
    }
}

function explain(error: unknown, interrupts: Interrupts, stderr: Stream): number {
    // Commander has printed its own message already; help that was asked for is no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitStatus.usage;
    if (error instanceof LapidaryError && error.code === 'cancelled') return interrupts.exitStatus;
    // One line, whatever the sentence quotes.
    const sentence = messageOf(error).replace(/\s*\n\s*/g, ' ');
    stderr.write(`lapidary: ${safeFor(stderr, sentence)}\n`);
    if (process.env['LAPIDARY_LOG'] && error instanceof Error) stderr.write(`${error.stack ?? ''}\n`);
    return error instanceof UsageError ? exitStatus.usage : exitStatus.failure;
}

function version(): string {
    const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
    const parsed: unknown = JSON.parse(text);
    const found = typeof parsed === 'object' && parsed !== null && 'version' in parsed ? parsed.version : undefined;
    return typeof found === 'string' ? found : 'unknown';
}
