// WebGPU in Node: Dawn, the implementation that Chrome has, from the npm package `webgpu`.
import { existsSync } from 'node:fs';
import os from 'node:os';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../error.js';
import type { Log } from '../wasi.js';
import { makeDawnPatient } from './dawn-patience.js';
import type { WebGpu } from './webgpu.js';
import { thisComputer, whyNoGpuAt } from './presence.js';

/** A GPU in software, which comes with Chromium: slow, and everywhere the same. */
const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json';
const swiftShaderLoader = '/usr/lib/chromium/libvulkan.so.1';

// Matrices of a subgroup are still an experiment.
const dawnHas = ['allow_unsafe_apis'];
// Steps of 65 µs protect the secrets of web pages; here they would only blur measurements.
const dawnLacks = ['timestamp_quantization'];
// SwiftShader clears a workgroup's memory with an instruction for each word of it, and takes seconds to compile them;
// without the extension Dawn writes a loop.
const dawnLacksInSoftware = ['use_vulkan_zero_initialize_workgroup_memory_extension'];

/** Dawn hangs or crashes when this is collected as garbage while a device lives. */
let implementation: Promise<WebGpu | undefined> | undefined;
let absence: string | undefined;

/**
 * WebGPU of this computer, or undefined when there is none; `whyNoNodeGpu` tells why. LAPIDARY_WEBGPU names the index.js of the
 * package where npm has not installed it, and LAPIDARY_GPU=swiftshader computes in software.
 */
export function nodeGpu(log: Log = () => undefined): Promise<WebGpu | undefined> {
    implementation ??= load(process.env, log);
    return implementation;
}

/** In words, once `nodeGpu` found nothing. */
export function whyNoNodeGpu(): string | undefined {
    return absence;
}

async function load(env: NodeJS.ProcessEnv, log: Log): Promise<WebGpu | undefined> {
    const software = env['LAPIDARY_GPU'] === 'swiftshader';
    if (software) {
        useSwiftShader(env, log);
        makeDawnPatient();
    }
    const lacks = software ? [...dawnLacks, ...dawnLacksInSoftware] : dawnLacks;
    const flags = [`enable-dawn-features=${dawnHas.join()}`, `disable-dawn-features=${lacks.join()}`];
    const file = env['LAPIDARY_WEBGPU'];
    if (!software && !file) absence = whyNoGpuAt(thisComputer);
    if (absence !== undefined) return undefined;
    // Where nobody has logged in, what Vulkan's drivers look for a screen with complains on the error output.
    if (process.platform === 'linux') env['XDG_RUNTIME_DIR'] ||= os.homedir();
    // Not a literal: the package is optional, and the compiler would insist on it.
    const name: string = file ? pathToFileURL(file).href : 'webgpu';
    try {
        const module: unknown = await import(name);
        return createFunction(module)(flags);
    } catch (error) {
        if (!file && isMissing(error)) {
            absence = `the optional npm package 'webgpu' is not installed`;
        } else {
            absence = `WebGPU could not be loaded (${file || "npm package 'webgpu'"}): ${messageOf(error)}`;
            log('warning', absence);
        }
        return undefined;
    }
}

function isMissing(error: unknown): boolean {
    const missing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    return missing && error.message.includes("'webgpu'");
}

function createFunction(module: unknown): (flags: string[]) => WebGpu {
    const create = typeof module === 'object' && module !== null && 'create' in module ? module.create : undefined;
    if (typeof create !== 'function') throw new TypeError('it has no function create');
    return create as (flags: string[]) => WebGpu; // the package's word for it
}

/** Vulkan looks at the environment when Dawn is loaded. */
function useSwiftShader(env: NodeJS.ProcessEnv, log: Log): void {
    // Someone knows better; but a driver named by a process that started this one is our own.
    const named = env['VK_ICD_FILENAMES'] || env['VK_DRIVER_FILES'];
    if (named && named !== swiftShader) return;
    if (!existsSync(swiftShader)) return log('warning', `there is no SwiftShader at ${swiftShader}`);
    env['VK_ICD_FILENAMES'] = swiftShader;
    preload(swiftShaderLoader);
}

/**
 * Chromium brings Vulkan's loader along, but in a folder of its own. A library that is in memory already is found by
 * its name wherever it came from, so bringing it there spares people to install another.
 */
function preload(library: string): void {
    const keepLoaded = 0x1000; // RTLD_NODELETE, which Node has no name for
    try {
        process.dlopen({ exports: {} }, library, os.constants.dlopen.RTLD_NOW | keepLoaded);
    } catch {
        // Always: it is not a module of Node's. It stays in memory all the same.
    }
}
