// copy_rows — y[i, :] = x[rows[i], :], or zeros where rows[i] says there is none. x: [·, n], y: [tokens, n].
// grid: (n / 64, tokens).
//# import lib/common
override kCols: u32;
const kNone = 0xFFFFFFFFu;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> rows: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.y >= step.tokens || id.x >= kCols) { return; }
    let row = rows[id.y];
    var v = 0.0;
    if (row != kNone) { v = x[row * kCols + id.x]; }
    y[id.y * kCols + id.x] = v;
}
