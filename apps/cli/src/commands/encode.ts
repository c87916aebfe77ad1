// lapidary encode: what towers make of a picture or a sound, for comparing engines.
import { Option, type Command } from 'commander';
import type { Backend } from 'lapidary';
import { FileSink } from 'lapidary/node';
import { UsageError } from '../errors.js';
import { withSink, type Interrupts } from '../interrupt.js';
import { addMedia, mmprojHelp, withProjector, type MediaItem } from '../media-items.js';
import { modelHelp, withModel } from '../model-argument.js';
import { parseInteger } from '../numbers.js';
import { ProgressLine } from '../terminal.js';

interface Flags {
    mmproj?: string;
    image?: string;
    frame?: string;
    audio?: string;
    budget?: number;
    out?: string;
    pixels?: string;
    mel?: string;
    json?: boolean;
    backend: Backend;
}

export function addEncode(program: Command, interrupts: Interrupts): void {
    program
        .command('encode')
        .description('turn a picture or a sound into soft tokens, as raw little-endian float32')
        .argument('<model>', `${modelHelp}; a projector file (mmproj) will do`)
        .option('--mmproj <file>', mmprojHelp)
        .option('--image <file>', 'a picture')
        .option('--frame <file>', 'a picture that is a frame of a video')
        .option('--audio <file>', 'a sound')
        .option('--budget <n>', 'tokens that a picture may become: 280 unless told, 70 of a frame', parseInteger({ min: 1, max: 1120 }))
        .addOption(new Option('--backend <name>', 'where the tower computes').choices(['cpu', 'gpu']).default('cpu'))
        .option('--out <file>', 'where soft tokens go, [tokens][width]; without it nothing is encoded')
        .option('--pixels <file>', 'where the picture goes as the tower is shown it, [height][width][3] from 0 to 255')
        .option('--mel <file>', 'where the log-mel features of a sound go, [frames][128]')
        .option('--json', 'sizes and tokens as JSON')
        .addHelpText('after', '\nExample:\n  lapidary encode mmproj-F16.gguf --image photo.jpg --budget 280 --out soft.f32 --json')
        .action(async (argument: string, flags: Flags) => {
            const { signal } = interrupts;
            const item = wantedItem(flags);
            await withModel(argument, signal, async (open) => {
                await withProjector(open, flags.mmproj, flags.backend, signal, async (projector) => {
                    const made = await addMedia(open.engine, projector, item, signal);
                    const { media, ...sizes } = made;
                    const shown: Record<string, unknown> = { kind: item.kind, ...sizes };
                    const prepared = flags.pixels ?? flags.mel;
                    if (prepared !== undefined) {
                        const { json, blob } = await open.engine.call('media.prepared', { media }, { signal });
                        await write(prepared, blob);
                        shown['prepared'] = json.channels > 1 ? [json.rows, json.columns, json.channels] : [json.rows, json.columns];
                    }
                    if (flags.out !== undefined) {
                        const progress = new ProgressLine('encoding', 'steps');
                        try {
                            const onEvent = (event: { done: number; total: number }) => progress.update(event);
                            const { json, blob } = await open.engine.call('media.encode', { media }, { signal, onEvent });
                            await write(flags.out, blob);
                            shown['soft'] = [json.tokens, json.width];
                            shown['ms'] = json.ms;
                        } finally {
                            progress.clear();
                        }
                    }
                    process.stdout.write(flags.json ? `${JSON.stringify(shown)}\n` : `${describe(shown)}\n`);
                });
            });
        });
}

function wantedItem({ image, frame, audio, budget, pixels, mel }: Flags): MediaItem {
    const given = [image, frame, audio].filter((file) => file !== undefined);
    if (given.length !== 1) throw new UsageError('give one of --image, --frame and --audio');
    if (audio !== undefined) {
        if (pixels !== undefined) throw new UsageError('a sound has no --pixels');
        return { kind: 'audio', file: audio }; // a budget means nothing for it
    }
    if (mel !== undefined) throw new UsageError('a picture has no --mel');
    const kind = image === undefined ? 'frame' : 'image';
    return { kind, file: given[0] ?? '', ...(budget === undefined ? {} : { budget }) };
}

async function write(file: string, bytes: Uint8Array): Promise<void> {
    const sink = await FileSink.create(file, { overwrite: true });
    await withSink(sink, async () => await sink.write(0, bytes));
}

function describe(shown: Record<string, unknown>): string {
    return Object.entries(shown)
        .map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(' × ') : String(value)}`)
        .join(', ');
}
