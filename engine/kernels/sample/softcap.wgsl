// softcap — y = cap · tanh(y / cap), in place; where a product cannot finish with it, because something is added first.
// y: [rows, n]. grid: (n / 64, rows); rows beyond step.tokens are left alone.
//# import lib/common
override kCols: u32;
override kCap: f32 = 30.0;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.y >= step.tokens || id.x >= kCols) { return; }
    y[id.y * kCols + id.x] = softcap(y[id.y * kCols + id.x], kCap);
}
