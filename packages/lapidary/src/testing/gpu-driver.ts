// What C++ does with module "gpu", in a few lines of TypeScript: ids, addresses and operations over a fake engine.
import { existsSync } from 'node:fs';
import type { Engine } from '../engine.js';
import { nodeGpu, whyNoNodeGpu } from '../gpu/node.js';
import { FakeEngine } from './fake-engine.js';

export const binding = { read: 1, write: 2 } as const;
export const usage = { storage: 1 } as const;

/** The GPU for tests, or why there is none: a real one where Vulkan finds it, else SwiftShader. */
export async function gpuForTests(): Promise<GPU | string> {
    process.env['LAPIDARY_CACHE'] ??= '/dev/null/lapidary'; // what a test finds out is not for its person to keep
    const chosen = process.env['LAPIDARY_GPU'] ?? process.env['VK_ICD_FILENAMES'];
    if (chosen === undefined && existsSync('/usr/lib/chromium/vk_swiftshader_icd.json')) {
        process.env['LAPIDARY_GPU'] = 'swiftshader';
    }
    let why = '';
    const gpu = await nodeGpu((_level, text) => (why = text));
    if (!gpu) return why || (whyNoNodeGpu() ?? 'no WebGPU');
    if (!(await gpu.requestAdapter())) return 'no GPU here, and no SwiftShader of Chromium either';
    return gpu;
}

/** The same GPU, which remembers the device that was made last: tests take it away or look over its shoulder. */
export function watched(gpu: GPU): { gpu: GPU; device: () => GPUDevice } {
    let last: GPUDevice | undefined;
    const requestAdapter = async (options?: GPURequestAdapterOptions) => {
        const adapter = await gpu.requestAdapter(options);
        if (!adapter) return null;
        const requestDevice = adapter.requestDevice.bind(adapter);
        adapter.requestDevice = async (descriptor) => (last = await requestDevice(descriptor));
        return adapter;
    };
    return {
        gpu: { requestAdapter, wgslLanguageFeatures: gpu.wgslLanguageFeatures } as GPU,
        device: () => {
            if (!last) throw new Error('no device was made');
            return last;
        },
    };
}

export class GpuDriver {
    private lastOperation = 0;
    private readonly waiting = new Map<number, (error: string | undefined) => void>();

    private constructor(
        readonly fake: FakeEngine,
        readonly engine: Engine,
    ) {
        fake.onComplete = (operation, error) => {
            this.waiting.get(operation)?.(error);
            this.waiting.delete(operation);
        };
    }

    static async start(gpu: GPU | (() => Promise<GPU | undefined>) | undefined): Promise<GpuDriver> {
        const fake = new FakeEngine();
        return new GpuDriver(fake, await fake.connect({ gpu }));
    }

    get gpu() {
        return this.fake.gpu;
    }

    /** How the operation ended: undefined, or the sentence. It must not end before `begin` returns. */
    operation(begin: (operation: number) => void): Promise<string | undefined> {
        const operation = ++this.lastOperation;
        const ended = new Promise<string | undefined>((resolve) => this.waiting.set(operation, resolve));
        begin(operation);
        if (this.fake.completed.has(operation)) throw new Error('an operation was completed at once');
        return ended;
    }

    /** The same for operations that are expected to work. */
    async done(begin: (operation: number) => void): Promise<void> {
        const error = await this.operation(begin);
        if (error !== undefined) throw new Error(error);
    }

    open(options: object = {}): Promise<string | undefined> {
        return this.operation((op) => this.gpu.open(op, ...this.fake.put(JSON.stringify(options))));
    }

    sync(): Promise<string | undefined> {
        return this.operation((op) => this.gpu.sync(op));
    }

    buffer(bytes: number, kind: number = usage.storage, label = 'test'): number {
        return this.gpu.buffer(bytes, kind, ...this.fake.put(label));
    }

    write(buffer: number, words: readonly number[], offset = 0): void {
        this.gpu.write(buffer, offset, ...this.fake.put(new Uint8Array(Uint32Array.from(words).buffer)));
    }

    async read(buffer: number, words: number, offset = 0): Promise<number[]> {
        const pointer = this.fake.alloc(words * 4);
        await this.done((op) => this.gpu.read(op, buffer, offset, pointer, words * 4));
        return [...new Uint32Array(this.fake.bytes(pointer, words * 4).buffer)];
    }

    compile(
        wgsl: string,
        bindings: readonly number[],
        constants?: object,
        label = 'kernel',
    ): { id: number; ended: Promise<string | undefined> } {
        let id = 0;
        const json = constants ? JSON.stringify(constants) : '';
        const ended = this.operation((op) => {
            const [at, count] = this.fake.put(Uint8Array.from(bindings));
            const [wgslAt, wgslLength] = this.fake.put(wgsl);
            const [labelAt, labelLength] = this.fake.put(label);
            const texts = [wgslAt, wgslLength, labelAt, labelLength] as const;
            id = this.gpu.pipeline(op, ...texts, at, count, ...this.fake.put(json));
        });
        return { id, ended };
    }

    async pipeline(wgsl: string, bindings: readonly number[], constants?: object): Promise<number> {
        const { id, ended } = this.compile(wgsl, bindings, constants);
        const error = await ended;
        if (error !== undefined) throw new Error(error);
        return id;
    }

    bindGroup(pipeline: number, entries: readonly (readonly [buffer: number, offset: number, size: number])[]): number {
        const [pointer] = this.fake.put(new Uint8Array(Float64Array.from(entries.flat()).buffer));
        return this.gpu.bind_group(pipeline, pointer, entries.length);
    }

    program(commands: readonly (readonly [number, number, number, number, number])[]): number {
        const [pointer] = this.fake.put(new Uint8Array(Uint32Array.from(commands.flat()).buffer));
        return this.gpu.program(pointer, commands.length);
    }

    /** Nanoseconds. */
    async time(program: number, repeat: number): Promise<number> {
        const pointer = this.fake.alloc(8);
        await this.done((op) => this.gpu.time(op, program, repeat, pointer));
        return new DataView(this.fake.memory.buffer).getFloat64(pointer, true);
    }

    info(): unknown {
        const length = this.gpu.info(0, 0);
        const pointer = this.fake.alloc(length);
        this.gpu.info(pointer, length);
        return JSON.parse(this.fake.text(pointer, length));
    }
}
