// per_layer_inputs — the per-layer inputs of every layer: y[t, l] = (rms(kScale · context[t, l]; w) + tokens[t, l]) / √2
// context, tokens, y: [tokens, layers, kWidth], w: [kWidth], kWidth a multiple of 4. One workgroup a layer and token; grid: (layers, tokens).
//# import lib/common, $reduce
override kWidth: u32;
override kScale: f32;
override kEps: f32 = 1e-6;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> context: array<vec4f>;
@group(0) @binding(2) var<storage, read> tokens: array<vec4f>;
@group(0) @binding(3) var<storage, read> w: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) grid: vec3u,
        @builtin(local_invocation_index) t: u32) {
    if (group.y >= step.tokens) { return; }
    let base = (group.y * grid.x + group.x) * (kWidth / 4u);
    var sum = 0.0;
    for (var i = t; i < kWidth / 4u; i += kThreads) {
        let v = kScale * context[base + i];
        sum += dot(v, v);
    }
    let scale = kScale * inverseSqrt(sum_warps(sum, t, kThreads / 32u) / f32(kWidth) + kEps);
    for (var i = t; i < kWidth / 4u; i += kThreads) {
        y[base + i] = (context[base + i] * scale * w[i] + tokens[base + i]) * 0.7071067811865476;
    }
}
