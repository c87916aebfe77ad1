// Whether this GPU computes what it should: every kernel against a slow and obvious version of itself on the CPU.
import type { Engine } from '../engine.js';
import type { CheckedCase, GpuCheckArgs, GpuCheckResult } from '../messages.js';
import { callOptions, type WorkOptions } from '../work.js';

export type { CheckedCase };
export type CheckRequest = GpuCheckArgs;
export type CheckReport = GpuCheckResult;

export async function checkGpu(
    engine: Pick<Engine, 'call'>,
    request: CheckRequest = {},
    options: WorkOptions = {},
): Promise<CheckReport> {
    return (await engine.call('gpu.check', request, callOptions(options))).json;
}
