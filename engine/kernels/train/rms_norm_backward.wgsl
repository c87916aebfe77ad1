// rms_norm_backward — the gradient of a norm by its input, one workgroup a token. With r = inv_rms(x), g = w ⊙ dy:
//   dx = (dx + r · g − x · r³ · mean(g ⊙ x)) · scale. kAdd 0: without the dx before.
// x, dy, dx: [tokens, n]. w: [n], then the scale. grid: (tokens).
//# import lib/common, $reduce
override kCols: u32;
override kAdd: u32 = 0u;
override kEps: f32 = 1e-6;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> w: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<f32>;
@group(0) @binding(4) var<storage, read_write> dx: array<f32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    if (group.x >= step.tokens) { return; }
    let at = group.x * kCols;
    var squares = 0.0;
    var products = 0.0;
    for (var i = t; i < kCols; i += kThreads) {
        squares += x[at + i] * x[at + i];
        products += x[at + i] * w[i] * dy[at + i];
    }
    let r = 1.0 / sqrt(sum_workgroup(squares, t, kThreads) / f32(kCols) + kEps);
    let back = sum_workgroup(products, t, kThreads) / f32(kCols) * r * r * r;
    for (var i = t; i < kCols; i += kThreads) {
        var v = r * w[i] * dy[at + i] - x[at + i] * back;
        if (kAdd == 1u) { v += dx[at + i]; }
        dx[at + i] = v * w[kCols];
    }
}
