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
    var values = chunk_values(row - kFirstRow, c);
    let runs = chunk_runs(c) / 4u + token * (kCols / 4u);
    for (var i = 0u; i < 4u; i++) {
        y[runs.x + i] = values[i] * kScale;
        y[runs.y + i] = values[i + 4u] * kScale;
    }
}
