// rms_norm — y = (base + x · inv_rms(x) ⊙ w) · scale, one workgroup a token. kAdd 0: without the base.
// add_rms_norm.wgsl does more at once, in place; here what the norms read is wanted again on the way back.
// base, x, y: [tokens, n]. w: [n], then the scale. grid: (tokens).
//# import lib/common, $reduce
override kCols: u32;
override kAdd: u32 = 0u;
override kEps: f32 = 1e-6;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> base: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> w: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    if (group.x >= step.tokens) { return; }
    let at = group.x * kCols;
    var sum = 0.0;
    for (var i = t; i < kCols; i += kThreads) { sum += x[at + i] * x[at + i]; }
    let r = 1.0 / sqrt(sum_workgroup(sum, t, kThreads) / f32(kCols) + kEps);
    for (var i = t; i < kCols; i += kThreads) {
        var v = x[at + i] * r * w[i];
        if (kAdd == 1u) { v += base[at + i]; }
        y[at + i] = v * w[kCols];
    }
}
