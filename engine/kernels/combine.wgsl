// combine — y[t, i] = Σ_k shares[t, k] · x[t, k, i]: the experts' answers, weighted.
//# import common
override kN: u32;
override kUsed: u32;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> shares: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let token = id.y;
    if (token >= step.tokens || id.x >= kN) { return; }
    var sum = 0.0;
    for (var k = 0u; k < kUsed; k++) { sum += shares[token * kUsed + k] * x[(token * kUsed + k) * kN + id.x]; }
    y[token * kN + id.x] = sum;
}
