// Compiles shaders with Dawn on SwiftShader, one after the other, and lets Dawn print the SPIR-V that the driver gets. Reads
// lines of JSON, { code, constants }; after what Dawn prints of each comes a line that begins with @@@. Started by dawn.mjs.
import os from 'node:os';
import { createInterface } from 'node:readline';

process.env.VK_ICD_FILENAMES = '/usr/lib/chromium/vk_swiftshader_icd.json';
try {
    // Vulkan's loader comes with Chromium, in a folder where nobody looks (packages/lapidary/src/gpu/node.ts).
    process.dlopen({ exports: {} }, '/usr/lib/chromium/libvulkan.so.1', os.constants.dlopen.RTLD_NOW | 0x1000);
} catch {
    // Always: it is not a module of Node's.
}
const { create, globals } = await import('webgpu');
Object.assign(globalThis, globals);
const gpu = create([
    'enable-dawn-features=dump_shaders,allow_unsafe_apis',
    'disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension',
]);
globalThis.keepFromCollection = gpu; // Dawn crashes when it is collected as garbage while a device lives
const adapter = await gpu.requestAdapter();
if (!adapter) {
    console.log('@@@ there is no SwiftShader, which comes with Debian’s package chromium');
    process.exit(1);
}
const limits = [
    'maxComputeWorkgroupStorageSize',
    'maxStorageBuffersPerShaderStage',
    'maxComputeInvocationsPerWorkgroup',
    'maxComputeWorkgroupSizeX',
];
const device = await adapter.requestDevice({
    requiredFeatures: [...adapter.features].filter((feature) => feature === 'subgroups'),
    requiredLimits: Object.fromEntries(limits.map((limit) => [limit, adapter.limits[limit]])),
});
device.addEventListener('uncapturederror', (event) => event.preventDefault()); // compile() reports it

/** All that the text declares: Dawn numbers what is used by its rank among them. */
function layoutOf(code) {
    const declared = [...code.matchAll(/@binding\((\d+)\)\s*var<(\w+)(?:,\s*(\w+))?>/g)];
    const entries = declared.map(([, binding, space, access]) => {
        const type = space === 'uniform' ? 'uniform' : access === 'read_write' ? 'storage' : 'read-only-storage';
        return { binding: Number(binding), visibility: 4, buffer: { type } };
    });
    return device.createPipelineLayout({ bindGroupLayouts: [device.createBindGroupLayout({ entries })] });
}

async function compile({ code, constants }) {
    device.pushErrorScope('validation');
    let message;
    try {
        const module = device.createShaderModule({ code });
        const layout = layoutOf(code);
        await device.createComputePipelineAsync({ layout, compute: { module, entryPoint: 'main', constants } });
    } catch (error) {
        message = error.message;
    }
    const invalid = await device.popErrorScope();
    return invalid?.message ?? message;
}

console.log('@@@ ready');
for await (const line of createInterface({ input: process.stdin })) {
    const failed = await compile(JSON.parse(line));
    console.log(`@@@ ${failed === undefined ? 'compiled' : `failed ${failed.replaceAll('\n', ' ')}`}`);
}
device.destroy();
setTimeout(() => process.exit(0), 200);
