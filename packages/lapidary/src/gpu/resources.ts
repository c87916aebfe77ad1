// What the engine made on the GPU, by the numbers it knows them by. One series of numbers for all kinds, never used
// twice: a number that was released can only be unknown, not something else.
import { LapidaryError } from '../error.js';
import type { GpuLedger } from './ledger.js';

export interface BufferEntry {
    kind: 'buffer';
    label: string;
    buffer: GPUBuffer;
    bytes: number;
}

export interface PipelineEntry {
    kind: 'pipeline';
    label: string;
    layout: Layout;
    /** Missing until it is compiled. */
    pipeline: GPUComputePipeline | undefined;
}

export interface BindGroupEntry {
    kind: 'bind group';
    layout: Layout;
    group: GPUBindGroup;
}

export interface ProgramEntry {
    kind: 'program';
    commands: readonly Command[];
}

/** Equal bindings share one of these, so that layouts can be compared by identity. */
export interface Layout {
    types: readonly BindingType[];
    names: readonly string[];
    group: GPUBindGroupLayout;
    pipeline: GPUPipelineLayout;
}

export type BindingType = 'read-only-storage' | 'storage';

export interface Command {
    /** Null where the one before has set the same already. */
    pipeline: GPUComputePipeline | null;
    group: GPUBindGroup | null;
    x: number;
    y: number;
    z: number;
}

export type Resource = BufferEntry | PipelineEntry | BindGroupEntry | ProgramEntry;
type Kind = Resource['kind'];

const countedAs = {
    buffer: 'buffers',
    pipeline: 'pipelines',
    'bind group': 'bindGroups',
    program: 'programs',
} as const satisfies Record<Kind, keyof GpuLedger>;

export class Resources {
    private readonly entries = new Map<number, Resource>();
    private last = 0;

    add(resource: Resource): number {
        this.entries.set(++this.last, resource);
        return this.last;
    }

    get<K extends Kind>(kind: K, id: number): Extract<Resource, { kind: K }> {
        const entry = this.entries.get(id);
        if (entry?.kind !== kind) throw new LapidaryError('internal', `the GPU has no ${kind} ${id}`);
        return entry as Extract<Resource, { kind: K }>; // just compared
    }

    /** The commands of a program, or undefined. Apart from `get` because it is asked for every token. */
    commands(id: number): readonly Command[] | undefined {
        const entry = this.entries.get(id);
        return entry?.kind === 'program' ? entry.commands : undefined;
    }

    release(id: number): void {
        const entry = this.entries.get(id);
        this.entries.delete(id);
        // The memory of the others is small, and a program may still use them.
        if (entry?.kind === 'buffer') entry.buffer.destroy();
    }

    ledger(): GpuLedger {
        const counts: GpuLedger = { buffers: 0, bytes: 0, pipelines: 0, bindGroups: 0, programs: 0 };
        for (const entry of this.entries.values()) {
            if (entry.kind === 'buffer') counts.bytes += entry.bytes;
            counts[countedAs[entry.kind]]++;
        }
        return counts;
    }

    clear(): void {
        for (const id of [...this.entries.keys()]) this.release(id);
    }
}
