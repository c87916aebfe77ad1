// The npm package `webgpu`, looking on: what the engine compiles, and what it dispatches while `lab.recording`.
// run.mjs names this file as LAPIDARY_WEBGPU; LAPIDARY_LAB_WEBGPU names the package itself where npm has not installed it.
import { pathToFileURL } from 'node:url';

const file = process.env.LAPIDARY_LAB_WEBGPU;
const real = await import(file ? pathToFileURL(file).href : 'webgpu');

export const lab = {
    device: undefined,
    recording: false,
    /** Of each pass while recording: its dispatches, each { pipeline, group, grid }. */
    passes: [],
    /** pipeline → { label, layout, code, constants, bindings: their names, in the order of their numbers } */
    pipelines: new Map(),
    /** bind group → the bytes of each binding */
    groups: new Map(),
    /** Buffers that say where we are in the text. */
    steps: [],
};

export const { globals } = real;

export function create(flags) {
    const gpu = real.create(flags);
    intercept(gpu, 'requestAdapter', (ask) => async (options) => {
        const adapter = await ask(options);
        if (adapter) intercept(adapter, 'requestDevice', (open) => async (descriptor) => watched(await open(descriptor)));
        return adapter;
    });
    return gpu;
}

function intercept(object, name, wrap) {
    object[name] = wrap(object[name].bind(object));
}

function watched(device) {
    lab.device = device;
    const codes = new WeakMap();
    const names = new WeakMap(); // of bindings: the engine's host labels a layout of a group with them
    intercept(device, 'createBuffer', (make) => (descriptor) => {
        const buffer = make(descriptor);
        if (descriptor.label === 'step') lab.steps.push(buffer);
        return buffer;
    });
    intercept(device, 'createShaderModule', (make) => (descriptor) => {
        const module = make(descriptor);
        codes.set(module, descriptor.code);
        return module;
    });
    intercept(device, 'createBindGroupLayout', (make) => (descriptor) => {
        const layout = make(descriptor);
        names.set(layout, descriptor.label?.split(' ') ?? []);
        return layout;
    });
    intercept(device, 'createPipelineLayout', (make) => (descriptor) => {
        const layout = make(descriptor);
        names.set(layout, names.get(descriptor.bindGroupLayouts[0]) ?? []);
        return layout;
    });
    intercept(device, 'createComputePipelineAsync', (make) => async (descriptor) => {
        const { label, layout, compute } = descriptor;
        const pipeline = await make(descriptor);
        const code = codes.get(compute.module);
        lab.pipelines.set(pipeline, { label, layout, code, constants: compute.constants ?? {}, bindings: names.get(layout) ?? [] });
        return pipeline;
    });
    intercept(device, 'createBindGroup', (make) => (descriptor) => {
        const group = make(descriptor);
        const bytes = ({ resource: { buffer, offset = 0, size } }) => size ?? buffer.size - offset;
        lab.groups.set(group, descriptor.entries.map(bytes));
        return group;
    });
    intercept(device, 'createCommandEncoder', (make) => (...some) => {
        const encoder = make(...some);
        if (lab.recording) intercept(encoder, 'beginComputePass', (begin) => (...how) => recorded(begin(...how)));
        return encoder;
    });
    return device;
}

function recorded(pass) {
    const dispatches = [];
    lab.passes.push(dispatches);
    let pipeline;
    let group;
    intercept(pass, 'setPipeline', (set) => (next) => set((pipeline = next)));
    intercept(pass, 'setBindGroup', (set) => (index, next) => set(index, (group = next)));
    intercept(pass, 'dispatchWorkgroups', (dispatch) => (x, y = 1, z = 1) => {
        dispatches.push({ pipeline, group, grid: [x, y, z] });
        dispatch(x, y, z);
    });
    return pass;
}
