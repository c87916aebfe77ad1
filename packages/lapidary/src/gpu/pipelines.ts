// Kernels: compiling them, and binding buffers to them.
import { LapidaryError, messageOf } from '../error.js';
import { isObject } from '../json.js';
import { shaderStageCompute } from './constants.js';
import { oneLine, type GpuDevice } from './device.js';
import type { BindGroupEntry, BindingType, BufferEntry, Layout, PipelineEntry } from './resources.js';

/** By the number the engine gives them. */
const bindingTypes: readonly (BindingType | undefined)[] = [undefined, 'read-only-storage', 'storage'];

export interface Binding {
    target: BufferEntry;
    offset: number;
    size: number;
}

export class Pipelines {
    private readonly layouts = new Map<string, Layout>();
    /** Equal kernels are compiled once, however many layers ask for them. */
    private readonly compiled = new Map<string, Promise<GPUComputePipeline>>();

    constructor(private readonly gpu: GpuDevice) {}

    /** Bindings are those of group 0, in order; the entry has no pipeline until it went through `compile`. */
    prepare(label: string, bindings: Uint8Array, wgsl: string): PipelineEntry {
        return { kind: 'pipeline', label, layout: this.layout(label, bindings, wgsl), pipeline: undefined };
    }

    /** `constants`: JSON of the `override` constants, or nothing. */
    async compile(entry: PipelineEntry, wgsl: string, constants: string): Promise<void> {
        const { label, layout } = entry;
        const key = `${layout.types.join()}\n${constants}\n${wgsl}`;
        let pipeline = this.compiled.get(key);
        if (!pipeline) {
            pipeline = this.create(label, layout, wgsl, parseConstants(label, constants));
            this.compiled.set(key, pipeline);
        }
        try {
            entry.pipeline = await pipeline;
        } catch (error) {
            this.compiled.delete(key);
            const reason = await this.gpu.explain(error, `kernel '${label}'`);
            const mistake = error instanceof CompileError && this.gpu.gone === undefined;
            throw mistake ? new LapidaryError('internal', error.sentence(label)) : reason;
        }
    }

    bind(entry: PipelineEntry, bindings: readonly Binding[]): BindGroupEntry {
        const { label, layout } = entry;
        const { types, names } = layout;
        if (bindings.length !== types.length) {
            throw refused(label, `has ${types.length} bindings, but ${bindings.length} buffers were given`);
        }
        bindings.forEach((binding, i) => this.check(label, `binding ${i}, ${names[i] ?? '?'}`, binding));
        const group = this.gpu.device.createBindGroup({
            label,
            layout: layout.group,
            entries: bindings.map(({ target: { buffer }, offset, size }, binding) => ({
                binding,
                resource: { buffer, offset, size },
            })),
        });
        return { kind: 'bind group', layout, group };
    }

    private check(label: string, which: string, { target, offset, size }: Binding): void {
        const { maxStorageBufferBindingSize: most, minStorageBufferOffsetAlignment: alignment } = this.gpu.device.limits;
        const where = `${which} ('${target.label}'),`;
        if (!(offset >= 0) || offset % alignment !== 0) {
            throw refused(label, `${where} starts at byte ${offset}, which is not a multiple of ${alignment}`);
        }
        if (!(size > 0) || size % 4 !== 0) throw refused(label, `${where} cannot have ${size} bytes`);
        if (offset + size > target.bytes) {
            throw refused(label, `${where} reaches to byte ${offset + size}, but the buffer has ${target.bytes}`);
        }
        if (size > most) throw refused(label, `${where} has ${size} bytes, but this GPU binds at most ${most}`);
    }

    private layout(label: string, codes: Uint8Array, wgsl: string): Layout {
        const names = bindingNames(wgsl, codes.length);
        const key = `${codes.join()} ${names.join()}`;
        const known = this.layouts.get(key);
        if (known) return known;
        const types = [...codes].map((code, i) => {
            const type = bindingTypes[code];
            if (type === undefined) throw refused(label, `binding ${i} has the unknown type ${code}`);
            return type;
        });
        const { device } = this.gpu;
        const most = device.limits.maxStorageBuffersPerShaderStage;
        if (types.length > most) throw refused(label, `binds ${types.length} storage buffers, but this GPU allows ${most}`);
        const group = device.createBindGroupLayout({
            label: names.join(' '),
            entries: types.map((type, binding) => ({ binding, visibility: shaderStageCompute, buffer: { type } })),
        });
        const layout = { types, names, group, pipeline: device.createPipelineLayout({ bindGroupLayouts: [group] }) };
        this.layouts.set(key, layout);
        return layout;
    }

    private async create(
        label: string,
        layout: Layout,
        code: string,
        constants: Record<string, number>,
    ): Promise<GPUComputePipeline> {
        const { device } = this.gpu;
        // Without the scope a mistake in the source would also count as an error of whatever runs next.
        device.pushErrorScope('validation');
        const module = device.createShaderModule({ label, code });
        const compute = { module, entryPoint: 'main', constants };
        const pipeline = device.createComputePipelineAsync({ label, layout: layout.pipeline, compute });
        const scope = device.popErrorScope();
        try {
            return await pipeline;
        } catch (error) {
            const { messages } = await module.getCompilationInfo();
            const first = messages.find(({ type }) => type === 'error');
            throw new CompileError(first?.lineNum ?? 0, first?.message ?? messageOf(error));
        } finally {
            await scope.catch(() => null);
        }
    }
}

/** What the kernel calls its bindings, by their numbers; '?' where the source does not say. */
function bindingNames(wgsl: string, count: number): string[] {
    const names = new Array<string>(count).fill('?');
    for (const [, number, name = '?'] of wgsl.matchAll(/@binding\((\d+)\)\s+var<[^>]*>\s*(\w+)/g)) {
        if (Number(number) < count) names[Number(number)] = name;
    }
    return names;
}

/** Without the kernel's name: two kernels of the same source have the same error. */
class CompileError extends Error {
    constructor(
        readonly line: number,
        message: string,
    ) {
        super(oneLine(message));
    }

    sentence(label: string): string {
        const line = this.line > 0 ? `line ${this.line}: ` : '';
        return `kernel '${label}': ${line}${this.message}`;
    }
}

function parseConstants(label: string, text: string): Record<string, number> {
    if (text === '') return {};
    let value: unknown;
    try {
        value = JSON.parse(text);
    } catch {
        value = undefined;
    }
    if (!isObject(value)) throw refused(label, 'has constants that are not a JSON object');
    for (const [name, constant] of Object.entries(value)) {
        if (typeof constant !== 'number') throw refused(label, `has a constant ${name} that is not a number`);
    }
    return value as Record<string, number>; // just checked
}

function refused(label: string, why: string): LapidaryError {
    return new LapidaryError('invalid_argument', `kernel '${label}' ${why}`);
}
