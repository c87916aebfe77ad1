// The imports of module "gpu": the engine says what it wants in numbers and addresses, we hold the WebGPU objects.
// Nothing here may throw into the engine. What the engine waits for ends with a sentence; what it does not wait for is
// noted, and the next `sync` tells.
import { LapidaryError, messageOf } from '../error.js';
import { parseObject } from '../json.js';
import type { Log } from '../wasi.js';
import { checkBufferRange, createBuffer } from './buffers.js';
import { GpuDevice } from './device.js';
import { Impatience } from './impatience.js';
import { Pipelines } from './pipelines.js';
import { createProgram, programBytes, runProgram, timeProgram } from './programs.js';
import { Readback } from './readback.js';
import type { GpuLedger } from './ledger.js';
import { Resources } from './resources.js';
import type { WebGpu } from './webgpu.js';

/** WebGPU itself (`navigator.gpu`), or how to get it once it is needed. */
export type GpuOption = WebGpu | (() => Promise<WebGpu | undefined>);

/** What this side needs of the engine. */
export interface EngineSide {
    /** A fresh view each time: memory that grew has left its old buffer behind. */
    view(pointer: number, length: number): Uint8Array<ArrayBuffer>;
    text(pointer: number, length: number): string;
    /** Tells the engine how the work ended, never before the engine has been left. */
    settle(operation: number, work: Promise<void>): void;
    log: Log;
}

/** Everything that lives and dies with one device. */
class Opened {
    readonly pipelines: Pipelines;
    readonly impatience: Impatience;
    readonly readback: Readback;
    readonly info: Uint8Array;

    constructor(
        readonly gpu: GpuDevice,
        readonly resources: Resources,
    ) {
        this.pipelines = new Pipelines(gpu);
        this.impatience = new Impatience(gpu);
        this.readback = new Readback(gpu, this.impatience);
        this.info = new TextEncoder().encode(JSON.stringify(gpu.info));
    }
}

export class GpuHost {
    private opened: Opened | undefined;
    private opening: Promise<void> | undefined;
    /** Outlives a device, so that the numbers of one never mean something on the next. */
    private readonly resources = new Resources();

    constructor(
        private option: GpuOption | undefined,
        private readonly engine: EngineSide,
    ) {}

    imports(): WebAssembly.ModuleImports {
        const { engine } = this;
        return {
            available: () => (this.option === undefined ? 0 : 1),
            open: (operation: number, options: number, length: number) => {
                engine.settle(operation, this.open(engine.text(options, length)));
            },
            info: (pointer: number, capacity: number) => this.info(pointer, capacity >>> 0),
            buffer: (bytes: number, usage: number, label: number, length: number) =>
                this.buffer(bytes, usage, engine.text(label, length)),
            release: (id: number) => this.attempt(undefined, ({ resources }) => resources.release(id)),
            write: (buffer: number, offset: number, pointer: number, length: number) => {
                this.write(buffer, offset, pointer, length >>> 0);
            },
            read: (operation: number, buffer: number, offset: number, pointer: number, length: number) => {
                engine.settle(operation, this.read(buffer, offset, pointer, length >>> 0));
            },
            pipeline: (
                operation: number,
                wgsl: number,
                wgslLength: number,
                label: number,
                labelLength: number,
                bindings: number,
                bindingCount: number,
                constants: number,
                constantsLength: number,
            ) =>
                this.pipeline(
                    operation,
                    engine.text(label, labelLength),
                    engine.text(wgsl, wgslLength),
                    engine.view(bindings, bindingCount).slice(),
                    engine.text(constants, constantsLength),
                ),
            bind_group: (pipeline: number, entries: number, count: number) =>
                this.bindGroup(pipeline, entries, count >>> 0),
            program: (commands: number, count: number) =>
                this.attempt(0, ({ gpu, resources }) => {
                    const words = this.dataView(commands, programBytes(count >>> 0));
                    return resources.add(createProgram(gpu, resources, words));
                }),
            run: (program: number) => this.run(program),
            time: (operation: number, program: number, repeat: number, pointer: number) => {
                engine.settle(operation, this.time(program, repeat >>> 0, pointer));
            },
            sync: (operation: number) => engine.settle(operation, this.sync()),
        };
    }

    /** Why the device went away, if it did so by itself. */
    get lost(): string | undefined {
        return this.opened?.gpu.gone;
    }

    ledger(): GpuLedger {
        return this.resources.ledger();
    }

    /** Destroys the device and everything on it. What is under way ends with an error. */
    close(): void {
        const { opened } = this;
        this.opened = undefined;
        this.opening = undefined;
        this.resources.clear();
        opened?.gpu.close();
    }

    private async open(options: string): Promise<void> {
        if (this.opened && this.opened.gpu.gone === undefined) return;
        if (this.opening) return await this.opening;
        this.close(); // what was lost is of no use to anybody
        const opening = this.start(leftOut(options), () => this.opening !== opening);
        this.opening = opening;
        try {
            await opening;
        } finally {
            if (this.opening === opening) this.opening = undefined;
        }
    }

    private async start(leaveOut: ReadonlySet<string>, overtaken: () => boolean): Promise<void> {
        if (typeof this.option === 'function') this.option = await this.option();
        if (!this.option) throw new LapidaryError('unsupported', 'there is no WebGPU here');
        const device = await GpuDevice.open(this.option, leaveOut);
        if (overtaken()) {
            device.close();
            throw new LapidaryError('cancelled', 'the GPU was closed while it was being opened');
        }
        this.opened = new Opened(device, this.resources);
    }

    private info(pointer: number, capacity: number): number {
        const bytes = this.opened?.info ?? new Uint8Array();
        if (bytes.length <= capacity) this.engine.view(pointer, bytes.length).set(bytes);
        return bytes.length;
    }

    private buffer(bytes: number, usage: number, label: string): number {
        return this.attempt(0, ({ gpu, resources }) => {
            try {
                return resources.add(createBuffer(gpu, bytes, usage, label));
            } catch (error) {
                // The engine sees that it got nothing and may try less, so this is no error for `sync` to tell.
                this.engine.log('debug', messageOf(error));
                return 0;
            }
        });
    }

    private write(buffer: number, offset: number, pointer: number, length: number): void {
        this.attempt(undefined, ({ gpu, resources }) => {
            const entry = resources.get('buffer', buffer);
            checkBufferRange(entry, offset, length);
            const bytes = this.engine.view(pointer, length);
            gpu.device.queue.writeBuffer(entry.buffer, offset, bytes);
        });
    }

    private async read(buffer: number, offset: number, pointer: number, length: number): Promise<void> {
        const { resources, readback } = this.current();
        const entry = resources.get('buffer', buffer);
        const whole = Math.ceil(length / 4) * 4; // the GPU copies words, the engine may want fewer bytes
        checkBufferRange(entry, offset, whole);
        if (length === 0) return;
        await readback.read(
            whole,
            (encoder, target) => encoder.copyBufferToBuffer(entry.buffer, offset, target, 0, whole),
            (bytes) => this.engine.view(pointer, length).set(new Uint8Array(bytes, 0, length)),
        );
    }

    private pipeline(operation: number, label: string, wgsl: string, bindings: Uint8Array, constants: string): number {
        let id = 0;
        const compile = async () => {
            const { resources, pipelines } = this.current();
            const entry = pipelines.prepare(label, bindings, wgsl);
            id = resources.add(entry);
            try {
                await pipelines.compile(entry, wgsl, constants);
            } catch (error) {
                resources.release(id);
                throw error;
            }
        };
        this.engine.settle(operation, compile());
        return id; // known already: it was given before the first `await`
    }

    private bindGroup(pipeline: number, pointer: number, count: number): number {
        return this.attempt(0, ({ resources, pipelines }) => {
            const entry = resources.get('pipeline', pipeline);
            const numbers = this.dataView(pointer, count * 24);
            const bindings = Array.from({ length: count }, (_, i) => ({
                target: resources.get('buffer', numbers.getFloat64(i * 24, true)),
                offset: numbers.getFloat64(i * 24 + 8, true),
                size: numbers.getFloat64(i * 24 + 16, true),
            }));
            return resources.add(pipelines.bind(entry, bindings));
        });
    }

    private run(program: number): void {
        const { opened } = this;
        if (!opened || opened.gpu.gone !== undefined) return;
        const commands = opened.resources.commands(program);
        if (!commands) return opened.gpu.report(`the GPU has no program ${program}`);
        try {
            runProgram(opened.gpu.device, commands);
        } catch (error) {
            opened.gpu.report(messageOf(error));
        }
    }

    private async time(program: number, repeat: number, pointer: number): Promise<void> {
        const { gpu, resources, readback } = this.current();
        const { commands } = resources.get('program', program);
        const nanoseconds = await timeProgram(gpu, readback, commands, repeat);
        this.dataView(pointer, 8).setFloat64(0, nanoseconds, true);
    }

    private async sync(): Promise<void> {
        const { gpu, impatience } = this.current();
        const done = impatience.until(gpu.device.queue.onSubmittedWorkDone());
        const problems = gpu.takeProblem();
        let problem: string | undefined;
        try {
            [, problem] = await Promise.all([done, problems]);
        } catch (error) {
            throw await gpu.explain(error, 'waiting for the GPU');
        }
        gpu.throwIfGone();
        if (problem !== undefined) throw new LapidaryError('internal', problem);
    }

    private current(): Opened {
        if (!this.opened) throw new LapidaryError('internal', 'the GPU is not open');
        this.opened.gpu.throwIfGone();
        return this.opened;
    }

    /** For what the engine does not wait for. */
    private attempt<Result>(otherwise: Result, step: (opened: Opened) => Result): Result {
        const { opened } = this;
        if (!opened || opened.gpu.gone !== undefined) return otherwise;
        try {
            return step(opened);
        } catch (error) {
            opened.gpu.report(messageOf(error));
            return otherwise;
        }
    }

    private dataView(pointer: number, bytes: number): DataView {
        const { buffer, byteOffset, byteLength } = this.engine.view(pointer, bytes);
        return new DataView(buffer, byteOffset, byteLength);
    }
}

/** Features that should not be used even where the GPU has them: to measure what they bring, and to test without. */
function leftOut(options: string): ReadonlySet<string> {
    if (options === '') return new Set();
    const { features } = parseObject(options, 'the options of the GPU');
    return new Set(Array.isArray(features) ? features.map(String) : []);
}
