// Whether this GPU computes what it should: every kernel against a slow and obvious version of itself on the CPU.
import type { Engine } from '../engine.js';
import { LapidaryError } from '../error.js';
import { isObject, numberField, stringField, type JsonObject } from '../json.js';
import { callOptions, type WorkOptions } from '../model.js';

export interface CheckRequest {
    /** Features to do without, such as "subgroups". Only the first use of the GPU decides about them. */
    without?: readonly string[];
    /** Names of kernels; all of them unless told. */
    kernels?: readonly string[];
    /** Formats of weights, such as "q4_k"; all of them unless told. */
    formats?: readonly string[];
    /** One case for each kernel, variant and format: what a model's first load can afford. */
    quick?: boolean;
}

export interface CheckedCase {
    kernel: string;
    /** Empty for kernels that read no weights. */
    format: string;
    /** How threads add up: "shared" or "subgroup"; empty where there is no choice. */
    variant: string;
    shape: string;
    /** Relative L2, and the most it may be. */
    error: number;
    limit: number;
    /** The largest difference of a single number. */
    max_error: number;
    ok: boolean;
    /** What no tolerance covers, in words. */
    problem?: string;
}

export interface CheckReport {
    adapter: string;
    subgroups: boolean;
    cases: CheckedCase[];
    failed: number;
    ms: number;
}

const what = 'the answer to check';

export async function checkGpu(
    engine: Pick<Engine, 'call'>,
    request: CheckRequest = {},
    options: WorkOptions = {},
): Promise<CheckReport> {
    const { json } = await engine.call('gpu.check', request, callOptions(options));
    const { cases } = json;
    if (!Array.isArray(cases)) throw new LapidaryError('internal', `${what} has no cases`);
    return {
        adapter: stringField(json, 'adapter', what),
        subgroups: json['subgroups'] === true,
        cases: cases.map((item) => checkedCase(isObject(item) ? item : {})),
        failed: numberField(json, 'failed', what),
        ms: numberField(json, 'ms', what),
    };
}

function checkedCase(json: JsonObject): CheckedCase {
    const { problem } = json;
    return {
        kernel: stringField(json, 'kernel', what),
        format: stringField(json, 'format', what),
        variant: stringField(json, 'variant', what),
        shape: stringField(json, 'shape', what),
        error: numberField(json, 'error', what),
        limit: numberField(json, 'limit', what),
        max_error: numberField(json, 'max_error', what),
        ok: json['ok'] === true,
        ...(typeof problem === 'string' ? { problem } : {}),
    };
}
