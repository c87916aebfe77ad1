// gelu_gate_backward — the gradient of gate by g, in place of it: dg = dy · other · gelu′(g), and, with kPaired 1, the other's in
// its place: dy · gelu(g). grid: (n / 64, tokens).
//# import lib/common
override kCols: u32;
override kPaired: u32 = 1u;
override kAuxStride: u32 = 0u;
override kAuxOffset: u32 = 0u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(2) var<storage, read> aux: array<f32>;
@group(0) @binding(3) var<storage, read_write> g: array<f32>;

// gelu is x · σ(2u), so its derivative is σ + x · σ · (1 − σ) · 2u′.
fn gelu_slope(x: f32) -> f32 {
    let u = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    let s = 1.0 / (1.0 + exp(clamp(-2.0 * u, -80.0, 80.0)));
    return s + x * s * (1.0 - s) * 2.0 * 0.7978845608028654 * (1.0 + 0.134145 * x * x);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let token = id.y;
    if (token >= step.tokens || id.x >= kCols) { return; }
    let at = token * kCols * (1u + kPaired) + id.x;
    let d = dy[token * kCols + id.x];
    let x = g[at];
    var other: f32;
    if (kPaired == 1u) {
        other = g[at + kCols];
        g[at + kCols] = d * gelu(x);
    } else {
        other = aux[token * kAuxStride + kAuxOffset + id.x];
    }
    g[at] = d * other * gelu_slope(x);
}
