// lapidary chat: a conversation on a terminal, or with lines from a pipe.
import type { Command } from 'commander';
import { LapidaryError, type KvFormat } from 'lapidary';
import { adapterOption, useAdapters, type AdapterArgument } from '../adapters.js';
import { accuracyOption, backendOption, cpuFlags, kvOption, loadWeights, threadsOption, type BackendFlag, type CpuFlags } from '../backend.js';
import { addDiffusionOptions, diffusionFrom, type DiffusionFlags } from '../canvas/settings.js';
import { Conversation } from '../chat/conversation.js';
import { runChat } from '../chat/loop.js';
import type { Interrupts } from '../interrupt.js';
import { Senses, addMediaOptions, describeMedia, mediaOf, type MediaFlags } from '../media.js';
import { modelHelp, withModel } from '../model-argument.js';
import { parseInteger } from '../numbers.js';
import { addSamplingOptions, samplingFrom, type SamplingFlags } from '../sampling.js';

interface Flags extends SamplingFlags, MediaFlags, DiffusionFlags, CpuFlags {
    system?: string;
    think?: boolean;
    tokens: number;
    context?: number;
    backend: BackendFlag;
    kv: KvFormat;
    adapter?: AdapterArgument[];
}

export function addChat(program: Command, interrupts: Interrupts): void {
    const command = program
        .command('chat')
        .description('talk to a model; /help inside tells more')
        .argument('[model]', modelHelp, 'builtin')
        .option('--system <text>', 'how the model should behave')
        .option('--think', 'let the model think before it answers')
        .option('-n, --tokens <n>', 'the longest answer', parseInteger({ min: 1, max: 1_000_000 }), 4096)
        .option('--context <n>', 'room for this many tokens', parseInteger({ min: 1, max: 2 ** 31 - 1 }));
    addDiffusionOptions(addMediaOptions(addSamplingOptions(command)))
        .addOption(backendOption())
        .addOption(threadsOption())
        .addOption(accuracyOption())
        .addOption(kvOption())
        .addOption(adapterOption())
        .addHelpText('after', '\nExample:\n  lapidary chat gemma4:e2b --system "Answer briefly." --think')
        .action(async (argument: string, flags: Flags) => {
            const { signal } = interrupts;
            await withModel(argument, signal, async (open) => {
                const { model, params } = open;
                const { embedding_size: size } = await model.describe(signal);
                if (size !== undefined) {
                    const what = "this is a model of embeddings: it turns texts into vectors ('lapidary embed') and cannot chat";
                    throw new LapidaryError('unsupported', what);
                }
                const parts = await mediaOf(flags, open.engine, signal);
                const adapters = await useAdapters(open, flags.adapter, signal);
                await loadWeights(model, flags.backend, signal, cpuFlags(flags));
                const { context, kv } = flags;
                const session = await model.createSession({ signal, kv, ...(context === undefined ? {} : { context }) });
                const system = flags.system ?? open.system;
                const senses = await Senses.of(open, flags.mmproj, signal);
                for (const part of parts) process.stderr.write(`${describeMedia(part.name ?? part.type, await senses.measure(part, signal))}\n`);
                const conversation = new Conversation(session, {
                    ...samplingFrom(flags, params),
                    maxTokens: flags.tokens,
                    adapters,
                    place: async (messages, stop) => await senses.place(messages, stop),
                    drafts: process.stdout.isTTY === true,
                    ...diffusionFrom(flags),
                    thinking: flags.think === true,
                    ...(system === undefined ? {} : { system }),
                });
                conversation.attached.push(...parts);
                await runChat(conversation, senses, interrupts);
            });
        });
}
