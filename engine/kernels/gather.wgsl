// gather — y[t, :] = scale · W[ids[t], :]
//
// One thread a chunk of 32 elements. W may be a part of a table: rows [kFirstRow, kFirstRow + kWRows); tokens outside
// it are left alone, another dispatch has them.
// grid: (kChunks / 64, tokens).
override kCols: u32;
override kChunks: u32 = kCols / 32u;
override kFirstRow: u32 = 0u;
override kWRows: u32;
override kScale: f32 = 1.0;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> w: array<vec4u>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let c = id.x;
    let token = id.y;
    if (token >= step.tokens || c >= kChunks) { return; }
    let row = ids[token];
    if (row < kFirstRow || row >= kFirstRow + kWRows) { return; }
    let v = chunk_values(row - kFirstRow, c);
    let at = chunk_runs(c) / 4u + token * (kCols / 4u);
    y[at.x] = v.a0 * kScale;
    y[at.x + 1u] = v.a1 * kScale;
    y[at.x + 2u] = v.a2 * kScale;
    y[at.x + 3u] = v.a3 * kScale;
    y[at.y] = v.b0 * kScale;
    y[at.y + 1u] = v.b1 * kScale;
    y[at.y + 2u] = v.b2 * kScale;
    y[at.y + 3u] = v.b3 * kScale;
}
