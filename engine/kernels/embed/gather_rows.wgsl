// gather_rows — y[t, :] = scale · W[ids[t], :]
//
// One thread a run of 16 elements. W may be a part of a table: rows [kFirstRow, kFirstRow + kWRows); tokens outside
// it are left alone, another dispatch has them.
// grid: (kRuns / 64, tokens).
//# import lib/common, $weights
override kCols: u32;
override kRuns: u32 = kCols / 16u;
override kFirstRow: u32 = 0u;
override kWRows: u32;
override kScale: f32 = 1.0;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> w: array<vec4u>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let r = id.x;
    let token = id.y;
    if (token >= step.tokens || r >= kRuns) { return; }
    let row = ids[token];
    if (row < kFirstRow || row >= kFirstRow + kWRows) { return; }
    let v = vec16_values_1(row - kFirstRow, r);
    let at = token * (kCols / 4u) + 4u * r;
    y[at] = v.v0 * kScale;
    y[at + 1u] = v.v1 * kScale;
    y[at + 2u] = v.v2 * kScale;
    y[at + 3u] = v.v3 * kScale;
}
