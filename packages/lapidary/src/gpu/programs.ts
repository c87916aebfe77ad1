// Programs: lists of dispatches that are checked once and run for every token, so running one does as little in
// JavaScript as WebGPU allows.
import { LapidaryError } from '../error.js';
import { bufferUsage } from './constants.js';
import type { GpuDevice } from './device.js';
import type { Readback } from './readback.js';
import type { Command, ProgramEntry, Resources } from './resources.js';

/** A command of the engine: pipeline, bind group, x, y, z. */
const bytesOfCommand = 20;
const bytesOfTimestamps = 16;

export function createProgram(gpu: GpuDevice, resources: Resources, words: DataView): ProgramEntry {
    const most = gpu.device.limits.maxComputeWorkgroupsPerDimension;
    const commands: Command[] = [];
    let lastPipeline: GPUComputePipeline | undefined;
    let lastGroup: GPUBindGroup | undefined;
    for (let at = 0; at < words.byteLength; at += bytesOfCommand) {
        const word = (index: number) => words.getUint32(at + index * 4, true);
        const { label, pipeline, layout } = resources.get('pipeline', word(0));
        const bound = resources.get('bind group', word(1));
        const [x, y, z] = [word(2), word(3), word(4)];
        const where = `command ${at / bytesOfCommand} of a program, kernel '${label}',`;
        const refuse = (why: string) => new LapidaryError('invalid_argument', `${where} ${why}`);
        if (!pipeline) throw refuse('is not compiled yet');
        if (bound.layout !== layout) throw refuse('got the buffers of a kernel with other bindings');
        if (Math.max(x, y, z) > most) throw refuse(`wants ${x} × ${y} × ${z} workgroups, more than ${most} in a row`);
        if (x === 0 || y === 0 || z === 0) continue; // nothing to do, and Dawn would print a warning about it
        commands.push({
            pipeline: pipeline === lastPipeline ? null : pipeline,
            group: bound.group === lastGroup ? null : bound.group,
            x,
            y,
            z,
        });
        lastPipeline = pipeline;
        lastGroup = bound.group;
    }
    return { kind: 'program', commands };
}

export function programBytes(commands: number): number {
    return commands * bytesOfCommand;
}

export function runProgram(device: GPUDevice, commands: readonly Command[]): void {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    encode(pass, commands);
    pass.end();
    device.queue.submit([encoder.finish()]);
}

function encode(pass: GPUComputePassEncoder, commands: readonly Command[]): void {
    for (const { pipeline, group, x, y, z } of commands) {
        if (pipeline !== null) pass.setPipeline(pipeline);
        if (group !== null) pass.setBindGroup(0, group);
        // In Node every argument costs a tenth of a microsecond, and most grids have one dimension only.
        if (y === 1 && z === 1) pass.dispatchWorkgroups(x);
        else pass.dispatchWorkgroups(x, y, z);
    }
}

/** Nanoseconds that the GPU needs to run the program `repeat` times in a row. */
export async function timeProgram(
    gpu: GpuDevice,
    readback: Readback,
    commands: readonly Command[],
    repeat: number,
): Promise<number> {
    const { device } = gpu;
    if (!device.features.has('timestamp-query')) {
        throw new LapidaryError('unsupported', 'this GPU cannot tell how long something takes (no timestamp-query)');
    }
    const querySet = device.createQuerySet({ type: 'timestamp', count: 2 });
    const usage = bufferUsage.queryResolve | bufferUsage.copySource;
    const resolved = device.createBuffer({ size: bytesOfTimestamps, usage, label: 'timestamps' });
    let nanoseconds = 0;
    try {
        await readback.read(
            bytesOfTimestamps,
            (encoder, target) => {
                const pass = encoder.beginComputePass({
                    timestampWrites: { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 },
                });
                for (let i = 0; i < repeat; i++) encode(pass, commands);
                pass.end();
                encoder.resolveQuerySet(querySet, 0, 2, resolved, 0);
                encoder.copyBufferToBuffer(resolved, 0, target, 0, bytesOfTimestamps);
            },
            (bytes) => {
                const [begin = 0n, end = 0n] = new BigUint64Array(bytes);
                // The clock may have been set back in between; less than nothing would confuse whoever divides by it.
                nanoseconds = Math.max(0, Number(end - begin));
            },
        );
    } finally {
        querySet.destroy();
        resolved.destroy();
    }
    return nanoseconds;
}
