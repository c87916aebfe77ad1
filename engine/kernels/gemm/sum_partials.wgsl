// sum_partials — y[i] = Σ_s parts[s, i], for i < tokens · width. size: the width, how many parts, elements between them.
// grid: (tokens · width / 64).
//# import lib/common
@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> size: vec4u;
@group(0) @binding(2) var<storage, read> partials: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x >= step.tokens * size.x) { return; }
    var sum = 0.0;
    for (var s = 0u; s < size.y; s++) { sum += partials[s * size.z + id.x]; }
    y[id.x] = sum;
}
