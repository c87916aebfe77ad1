// One opened GPU: what it can do, what went wrong on it, and whether it is still there.
import { LapidaryError, messageOf } from '../error.js';
import { isSoftware } from './software.js';
import { subgroupsCompile } from './subgroups.js';

/** Asked for when the adapter has them; a kernel must do without any of them. */
const usefulFeatures = [
    'subgroups',
    'subgroup-size-control',
    'shader-f16',
    'timestamp-query',
    'chromium-experimental-subgroup-matrix',
] as const;

const errorKinds = ['validation', 'out-of-memory', 'internal'] as const;

const describedLimits = [
    'maxBufferSize',
    'maxStorageBufferBindingSize',
    'maxComputeWorkgroupStorageSize',
    'maxComputeInvocationsPerWorkgroup',
    'maxComputeWorkgroupsPerDimension',
    'maxStorageBuffersPerShaderStage',
    'minStorageBufferOffsetAlignment',
] as const;

/** What the engine is told about the GPU, as JSON. */
export interface DeviceInfo {
    adapter: { vendor: string; architecture: string; device: string; description: string };
    features: string[];
    /** Extensions of the shading language, which need no asking: packed_4x8_integer_dot_product and the like. */
    wgsl: string[];
    limits: Record<(typeof describedLimits)[number], number>;
    software: boolean;
    /** How many invocations a subgroup may have; 0 where that is not known. */
    subgroup_min: number;
    subgroup_max: number;
}

export class GpuDevice {
    private lostBecause: string | undefined;
    private firstProblem: string | undefined;
    private problems = 0;
    private closed = false;

    private constructor(
        readonly device: GPUDevice,
        readonly info: DeviceInfo,
    ) {
        this.watch();
        // Nothing should get past the scopes; if something does, it need not go to the console but must not be missed.
        device.onuncapturederror = (event) => {
            event.preventDefault();
            this.report(describeError(event.error));
        };
        void device.lost.then(({ message, reason }) => {
            this.lostBecause = oneLine(message) || reason || 'unknown';
        });
    }

    /** The fastest adapter, with every useful feature that is not in `leaveOut`, and its own limits. */
    static async open(gpu: GPU, leaveOut: ReadonlySet<string>): Promise<GpuDevice> {
        // Whoever wants no subgroups gets none by the back door either: some features bring them along.
        const noSubgroups = leaveOut.has('subgroups');
        const wanted = usefulFeatures.filter(
            (name) => !leaveOut.has(name) && !(noSubgroups && name.includes('subgroup')),
        );
        try {
            return await requestDevice(gpu, wanted, (device, info) => new GpuDevice(device, info));
        } catch (error) {
            if (error instanceof LapidaryError) throw error;
            // An experiment that an adapter offers may still need a flag to be switched on.
            const standard = wanted.filter((name) => !name.includes('experimental'));
            return await requestDevice(gpu, standard, (device, info) => new GpuDevice(device, info));
        }
    }

    /** Why nothing can be done with it any more, if so. */
    get gone(): string | undefined {
        if (this.closed) return 'the GPU was closed';
        return this.lostBecause === undefined ? undefined : `the GPU was lost: ${this.lostBecause}`;
    }

    /** Notes a mistake that has nobody waiting for it; the next `takeProblem` tells. */
    report(sentence: string): void {
        this.firstProblem ??= sentence;
        this.problems++;
    }

    /**
     * What went wrong until now and was not told yet. Asked of error scopes: browsers deliver uncaptured errors when
     * they please, also after the work that caused them is known to be done.
     */
    async takeProblem(): Promise<string | undefined> {
        const scopes = errorKinds.map(() => this.device.popErrorScope());
        this.watch();
        for (const error of await Promise.all(scopes)) if (error) this.report(describeError(error));
        // The first one: the others mostly follow from it.
        const more = this.problems > 1 ? ` (and ${this.problems - 1} more after it)` : '';
        const sentence = this.firstProblem === undefined ? undefined : this.firstProblem + more;
        this.firstProblem = undefined;
        this.problems = 0;
        return sentence;
    }

    /** From here on errors are collected for the next `takeProblem`. */
    private watch(): void {
        for (const kind of errorKinds) this.device.pushErrorScope(kind);
    }

    throwIfGone(): void {
        if (this.gone !== undefined) throw new LapidaryError('internal', this.gone);
    }

    /** The reason behind a promise of WebGPU's that was broken: usually that the device went away meanwhile. */
    async explain(error: unknown, what: string): Promise<LapidaryError> {
        // `lost` may be told a moment after what was lost with it.
        let timer: ReturnType<typeof setTimeout> | undefined;
        const moment = new Promise((resolve) => (timer = setTimeout(resolve, 200)));
        await Promise.race([this.device.lost, moment]);
        clearTimeout(timer);
        return new LapidaryError('internal', this.gone ?? `${what} failed: ${oneLine(messageOf(error))}`);
    }

    close(): void {
        this.closed = true;
        this.device.destroy();
    }
}

type Made<Result> = (device: GPUDevice, info: DeviceInfo) => Result;

async function requestDevice<Result>(gpu: GPU, wanted: readonly string[], made: Made<Result>): Promise<Result> {
    const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
    if (!adapter) throw new LapidaryError('unsupported', 'no GPU was found that WebGPU can use');
    const offered: ReadonlySet<string> = adapter.features;
    const features = wanted.filter((name) => offered.has(name));
    const device = await adapter.requestDevice({
        label: 'lapidary',
        requiredFeatures: features as GPUFeatureName[], // names of experiments are not in the type
        requiredLimits: numericLimits(adapter.limits),
    });
    const info = describe(gpu, device, adapter);
    if (info.features.includes('subgroups') && !(await subgroupsCompile(device))) {
        info.features = info.features.filter((name) => !name.includes('subgroup'));
    }
    return made(device, info);
}

function numericLimits(limits: GPUSupportedLimits): Record<string, number> {
    const result: Record<string, number> = {};
    // They are properties of the prototype: for…in sees them, Object.keys does not.
    for (const name in limits) {
        const value: unknown = limits[name as keyof GPUSupportedLimits];
        // "Without a limit" is a number of 64 bits, more than a request may name.
        if (typeof value === 'number') result[name] = Math.min(value, Number.MAX_SAFE_INTEGER);
    }
    return result;
}

function describe(gpu: GPU, device: GPUDevice, from: GPUAdapter): DeviceInfo {
    const { info } = from;
    const limits = Object.fromEntries(describedLimits.map((name) => [name, device.limits[name]]));
    const { vendor, architecture, device: model, description } = info;
    return {
        adapter: { vendor, architecture, device: model, description },
        features: [...device.features].sort(),
        wgsl: [...((gpu.wgslLanguageFeatures as ReadonlySet<string> | undefined) ?? [])].sort(),
        limits: limits as DeviceInfo['limits'],
        software: isSoftware(from),
        subgroup_min: info.subgroupMinSize ?? 0,
        subgroup_max: info.subgroupMaxSize ?? 0,
    };
}

function describeError(error: GPUError): string {
    const message = oneLine(error.message);
    // By name: Node has no global GPUOutOfMemoryError to compare with.
    const outOfMemory = error.constructor.name === 'GPUOutOfMemoryError';
    return `${outOfMemory ? 'the GPU is out of memory' : 'the GPU refused something'}: ${message}`;
}

/** Dawn explains itself over several lines. */
export function oneLine(text: string): string {
    return text.trim().replace(/\s*\n\s*/g, ' ');
}
