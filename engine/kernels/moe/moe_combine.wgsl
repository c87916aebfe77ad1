// moe_combine — y[t, i] = Σ_k shares[t, k] · x[t, k, i]: the experts' answers, weighted. grid: (n / 64, tokens).
//# import lib/common
override kCols: u32;
override kTopK: u32;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> router_weights: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let token = id.y;
    if (token >= step.tokens || id.x >= kCols) { return; }
    var sum = 0.0;
    for (var k = 0u; k < kTopK; k++) { sum += router_weights[token * kTopK + k] * x[(token * kTopK + k) * kCols + id.x]; }
    y[token * kCols + id.x] = sum;
}
