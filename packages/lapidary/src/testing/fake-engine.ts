// A stand-in for the engine: the same C ABI over a real WebAssembly.Memory, with behaviour that a test writes down.
import { Engine, type EngineExports, type EngineOptions } from '../engine.js';

export interface FakeCall {
    number: number;
    method: string;
    args: unknown;
    blob: Uint8Array;
}

/** The host's functions as the engine sees them. */
export interface HostFunctions {
    log(level: number, pointer: number, length: number): void;
    now(): number;
    read(operation: number, source: number, offset: number, length: number, pointer: number): void;
    write(operation: number, sink: number, offset: number, pointer: number, length: number): void;
    defer(operation: number): void;
    emit(call: number, json: number, jsonLength: number): void;
    finish(call: number, ok: number, json: number, jsonLength: number, blob: number, blobLength: number): void;
}

/** Module "gpu" as the engine sees it. */
export interface GpuFunctions {
    available(): number;
    open(operation: number, options: number, length: number): void;
    info(pointer: number, capacity: number): number;
    buffer(bytes: number, usage: number, label: number, length: number): number;
    release(id: number): void;
    write(buffer: number, offset: number, pointer: number, length: number): void;
    read(operation: number, buffer: number, offset: number, pointer: number, length: number): void;
    pipeline(
        operation: number,
        wgsl: number,
        wgslLength: number,
        label: number,
        labelLength: number,
        bindings: number,
        bindingCount: number,
        constants: number,
        constantsLength: number,
    ): number;
    bind_group(pipeline: number, entries: number, count: number): number;
    program(commands: number, count: number): number;
    run(program: number): void;
    time(operation: number, program: number, repeat: number, pointer: number): void;
    sync(operation: number): void;
}

export class FakeEngine {
    readonly memory = new WebAssembly.Memory({ initial: 2, maximum: 64 });
    readonly cancelled: number[] = [];
    /** How operations ended: undefined for success, else the sentence. */
    readonly completed = new Map<number, string | undefined>();
    readonly received: FakeCall[] = [];
    inside = false;
    live = 0;
    refuseAllocation = false;
    onCall: (call: FakeCall) => void = () => undefined;
    onCancel: (call: number) => void = () => undefined;
    onComplete: (operation: number, error: string | undefined) => void = () => undefined;
    imports: WebAssembly.Imports = {};
    private next = 16;

    async connect(options: EngineOptions = {}): Promise<Engine> {
        return await Engine.connect(async (imports) => {
            this.imports = imports;
            return this.exports();
        }, options);
    }

    get host(): HostFunctions {
        return this.imports['host'] as unknown as HostFunctions;
    }

    get gpu(): GpuFunctions {
        return this.imports['gpu'] as unknown as GpuFunctions;
    }

    /** Puts bytes into memory and returns their address. */
    put(bytes: Uint8Array | string): [pointer: number, length: number] {
        const data = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
        const pointer = this.alloc(data.length);
        new Uint8Array(this.memory.buffer).set(data, pointer);
        return [pointer, data.length];
    }

    bytes(pointer: number, length: number): Uint8Array {
        return new Uint8Array(this.memory.buffer, pointer, length).slice();
    }

    text(pointer: number, length: number): string {
        return new TextDecoder().decode(this.bytes(pointer, length));
    }

    emit(call: number, event: object): void {
        this.host.emit(call, ...this.put(JSON.stringify(event)));
    }

    finish(call: number, json: object, blob: Uint8Array = new Uint8Array()): void {
        this.host.finish(call, 1, ...this.put(JSON.stringify(json)), ...this.put(blob));
    }

    fail(call: number, code: string, message: string): void {
        this.host.finish(call, 0, ...this.put(JSON.stringify({ code, message })), 0, 0);
    }

    alloc(bytes: number): number {
        const pointer = this.next;
        this.next += Math.ceil(bytes / 8) * 8 + 8;
        const missing = this.next - this.memory.buffer.byteLength;
        if (missing > 0) this.memory.grow(Math.ceil(missing / 65536));
        return pointer;
    }

    private exports(): EngineExports {
        return {
            memory: this.memory,
            lapidary_alloc: (bytes) => {
                if (this.refuseAllocation) return 0;
                this.live++;
                return this.alloc(bytes);
            },
            lapidary_free: () => {
                this.live--;
            },
            lapidary_call: (number, method, methodLength, json, jsonLength, blob, blobLength) => {
                const call: FakeCall = {
                    number,
                    method: this.text(method, methodLength),
                    args: JSON.parse(this.text(json, jsonLength)),
                    blob: this.bytes(blob, blobLength),
                };
                this.received.push(call);
                this.enter(() => this.onCall(call));
            },
            lapidary_cancel: (call) => {
                this.cancelled.push(call);
                this.enter(() => this.onCancel(call));
            },
            lapidary_complete: (operation, error, errorLength) => {
                const sentence = error === 0 ? undefined : this.text(error, errorLength);
                this.completed.set(operation, sentence);
                this.enter(() => this.onComplete(operation, sentence));
            },
        };
    }

    private enter(step: () => void): void {
        if (this.inside) throw new Error('the engine was called from inside itself');
        this.inside = true;
        try {
            step();
        } finally {
            this.inside = false;
        }
    }
}
