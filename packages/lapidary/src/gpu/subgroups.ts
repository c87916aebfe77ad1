// Whether kernels with subgroups can be compiled here. A browser that offers the feature need not have a compiler that knows
// it: then every kernel would fail, and the model with them.

const trial = `enable subgroups;
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) thread: u32) {
    x[thread] += subgroupShuffleXor(x[thread], 1u);
}`;

export async function subgroupsCompile(device: GPUDevice): Promise<boolean> {
    device.pushErrorScope('validation');
    let compiled: Promise<unknown>;
    try {
        const module = device.createShaderModule({ label: 'subgroups', code: trial });
        const compute = { module, entryPoint: 'main' };
        compiled = device.createComputePipelineAsync({ label: 'subgroups', layout: 'auto', compute });
    } catch (error) {
        compiled = Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
    const complaint = device.popErrorScope();
    try {
        await compiled;
        return (await complaint) === null;
    } catch {
        await complaint.catch(() => null);
        return false;
    }
}
