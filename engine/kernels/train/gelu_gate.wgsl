// gelu_gate — y[t, i] = gelu(g[t, i]) · other[t, i]
// kPaired 1: g is [tokens, 2, n] and the other is its second half. 0: g is [tokens, n] and the other a part of aux's rows.
// grid: (n / 64, tokens).
//# import lib/common
override kCols: u32;
override kPaired: u32 = 1u;
override kAuxStride: u32 = 0u;
override kAuxOffset: u32 = 0u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> g: array<f32>;
@group(0) @binding(2) var<storage, read> aux: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let token = id.y;
    if (token >= step.tokens || id.x >= kCols) { return; }
    let at = token * kCols * (1u + kPaired) + id.x;
    var other: f32;
    if (kPaired == 1u) {
        other = g[at + kCols];
    } else {
        other = aux[token * kAuxStride + kAuxOffset + id.x];
    }
    y[token * kCols + id.x] = gelu(g[at]) * other;
}
