// lapidary diffuse: a diffusion model's canvases, step by step, with random numbers that are given.
import type { Command } from 'commander';
import type { KvFormat } from 'lapidary';
import { adapterOption, useAdapters, type AdapterArgument } from '../adapters.js';
import { backendOption, kvOption, loadWeights, type BackendFlag } from '../backend.js';
import { Tensors } from '../canvas/safetensors.js';
import { UsageError } from '../errors.js';
import { readBinaryFile, readTokens } from '../input.js';
import type { Interrupts } from '../interrupt.js';
import { modelHelp, withModel } from '../model-argument.js';

interface Flags {
    tokensFile: string;
    replay: string;
    backend: BackendFlag;
    kv: KvFormat;
    json?: boolean;
    adapter?: AdapterArgument[];
}

export function addDiffuse(program: Command, interrupts: Interrupts): void {
    program
        .command('diffuse')
        .description('settle the canvases of a diffusion model with given random numbers, and print every step')
        .argument('<model>', modelHelp)
        .requiredOption('--tokens-file <file>', 'the prompt, as little-endian int32 token ids')
        .requiredOption('--replay <file>', 'a trace (safetensors): settings, start canvases, uniforms and noise')
        .addOption(backendOption())
        .addOption(kvOption())
        .addOption(adapterOption())
        .option('--json', 'as one JSON object, which is what there is')
        .addHelpText('after', '\nExample:\n  lapidary diffuse model.gguf --tokens-file prompt.i32 --replay trace.safetensors --json')
        .action(async (argument: string, flags: Flags) => {
            const { signal } = interrupts;
            const tokens = await readTokens(flags.tokensFile);
            if (tokens.length === 0) throw new UsageError('there is no token to go on from');
            const args = replayOf(Tensors.parse(await readBinaryFile(flags.replay), flags.replay));
            await withModel(argument, signal, async (open) => {
                const adapters = await useAdapters(open, flags.adapter, signal);
                const backend = await loadWeights(open.model, flags.backend, signal);
                // The trace has as many numbers a step as a canvas has tokens, so this is room for all canvases.
                const context = tokens.length + args.canvas_in.length;
                const session = await open.model.createSession({ context, backend, kv: flags.kv, signal });
                const { steps, output, margins } = await session.diffuse(tokens, args, { adapters, signal });
                process.stdout.write(`${JSON.stringify({ steps, output, margins })}\n`);
            });
        });
}

function replayOf(trace: Tensors) {
    const [steps, entropy_bound, stability_threshold, confidence_threshold, t_min, t_max] = trace.numbers('setting', 'F32');
    return {
        settings: { steps, entropy_bound, stability_threshold, confidence_threshold, t_min, t_max },
        // What pads the list is no end.
        end_tokens: trace.numbers('eos', 'I32').filter((id) => id !== 0),
        first_step: trace.numbers('first_step', 'I32'),
        canvas_in: trace.numbers('canvas_in', 'I32'),
        noise: trace.numbers('noise', 'I32'),
        uniforms: trace.numbers('u', 'F32'),
    };
}
