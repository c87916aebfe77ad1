// lapidary serve: the web app, and models for other programs.
import { InvalidArgumentError, Option, type Command } from 'commander';
import { fileURLToPath } from 'node:url';
import { adapterOption, readAdapters, type AdapterArgument } from '../adapters.js';
import { accuracyOption, backendOption, cpuFlags, threadsOption, type BackendFlag, type CpuFlags } from '../backend.js';
import { UsageError } from '../errors.js';
import type { Interrupts } from '../interrupt.js';
import { logToStderr, modelHelp } from '../model-argument.js';
import { mmprojOption } from '../media.js';
import { parseInteger } from '../numbers.js';
import { safeFor } from '../terminal.js';

interface Flags extends CpuFlags {
    model?: string;
    alias?: [name: string, model: string][];
    port: number;
    host: string;
    apiKey?: string;
    backend: BackendFlag;
    context?: number;
    queue: number;
    models: number;
    conversations?: number;
    allowOrigin?: string[];
    allowHost?: string[];
    verbose?: boolean;
    adapter?: AdapterArgument[];
    mmproj?: string;
    fetchMedia?: boolean;
}

const webRoot = fileURLToPath(new URL('../../../web/dist', import.meta.url));

// How long answers under way may take to end after Ctrl-C: a person is waiting for the terminal.
const graceMs = 5000;

export function addServe(program: Command, interrupts: Interrupts): void {
    const collect = (text: string, list: string[] = []) => [...list, text];
    program
        .command('serve')
        .description('serve the web app, and models to programs that speak as OpenAI, Anthropic or Ollama do')
        .option('--model <model>', `load this at the start and answer with it when none is named: ${modelHelp}`)
        .option('--alias <name=model>', 'another name for a model, for programs that ask for theirs; claude-*=MODEL stands for many; may be repeated', collectAlias)
        .option('--port <n>', 'where to listen; 0 takes any', parseInteger({ min: 0, max: 65535 }), 8484)
        .option('--host <address>', 'the address to listen on; any but loopback needs an API key', '127.0.0.1')
        .addOption(adapterOption())
        .addOption(mmprojOption())
        .option('--fetch-media', 'fetch pictures from the http addresses that requests name')
        .addOption(keyOption())
        .addOption(backendOption())
        .addOption(threadsOption())
        .addOption(accuracyOption())
        .option('--context <n>', 'tokens a conversation can hold; by default as many as memory suggests', parseInteger({ min: 1, max: 2 ** 31 - 1 }))
        .option('--queue <n>', 'requests that may wait for their turn', parseInteger({ min: 0, max: 100_000 }), 256)
        .option('--models <n>', 'models that may be in memory together', parseInteger({ min: 1, max: 100 }), 1)
        .option(
            '--conversations <n>',
            'conversations remembered at a time, for each model; by default as many as memory suggests',
            parseInteger({ min: 1, max: 64 }),
        )
        .option('--allow-origin <origin>', 'let pages of this origin (or *) use it; may be repeated', collectOrigin)
        .option('--allow-host <name>', 'a name under which this server is reached; may be repeated', collect)
        .option('--verbose', 'a line for every request, also when nobody watches')
        .addHelpText('after', '\nExample:\n  lapidary serve --model gemma4:e2b')
        .action(async (flags: Flags) => {
            const log = (text: string) => void process.stderr.write(`${safeFor(process.stderr, text)}\n`);
            const { adapter = [], mmproj, fetchMedia = false, ...rest } = flags;
            if (adapter.length > 0 && flags.model === undefined) {
                throw new UsageError('--adapter belongs to a model: give --model');
            }
            if (mmproj !== undefined && flags.model === undefined) {
                throw new UsageError('--mmproj belongs to a model: give --model');
            }
            const { startServer } = await import('../serve/server.js'); // loaded late: half of all modules are for this command alone
            const server = await startServer({
                ...rest,
                adapters: adapter.length > 0 ? await readAdapters(adapter) : undefined,
                mmproj,
                aliases: flags.alias ?? [],
                apiKey: flags.apiKey || undefined, // an empty variable is no key
                allowedOrigins: flags.allowOrigin ?? [],
                allowedHosts: flags.allowHost ?? [],
                load: {
                    backend: flags.backend,
                    ...cpuFlags(flags),
                    log: logToStderr,
                    fetchMedia,
                    roomy: true,
                    ...(flags.context === undefined ? {} : { contextLength: flags.context }),
                    ...(flags.conversations === undefined ? {} : { maxConversations: flags.conversations }),
                },
                webRoot,
                version: program.version() ?? 'unknown',
                log,
                accessLog: flags.verbose || process.stderr.isTTY ? process.stderr : undefined,
            });
            process.stdout.write(`Lapidary is at ${server.url}\n`);
            await aborted(interrupts.signal);
            log('stopping (once more to leave at once)');
            await server.stop(graceMs);
        });
}

function collectAlias(text: string, list: [string, string][] = []): [string, string][] {
    const at = text.indexOf('=');
    if (at <= 0 || at === text.length - 1) throw new InvalidArgumentError('It must be NAME=MODEL.');
    return [...list, [text.slice(0, at), text.slice(at + 1)]];
}

/** As browsers send it: without a path. */
function collectOrigin(text: string, list: string[] = []): string[] {
    if (text === '*' || text === 'null') return [...list, text];
    try {
        const { origin, protocol } = new URL(text);
        // Extensions have schemes of their own, whose origins URL does not know.
        return [...list, origin === 'null' ? `${protocol}//${hostOf(text)}` : origin];
    } catch {
        throw new InvalidArgumentError('It must be an origin such as https://example.org.');
    }
}

function hostOf(address: string): string {
    return /^[^:]+:\/\/([^/]*)/.exec(address)?.[1] ?? '';
}

/** From the environment too: on a command line every user of the computer can read it. */
function keyOption(): Option {
    const option = new Option('--api-key <key>', 'what programs must send as Authorization: Bearer');
    return option.env('LAPIDARY_API_KEY');
}

function aborted(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
    });
}
