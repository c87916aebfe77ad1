// matvec — y[t, r] = finish(Σ_i W[r, i] · x[t, i])
//
// A group of kLanes threads computes kRows rows together: each thread takes every kLanes-th chunk of 32 weights, and the
// x it has loaded serves all of them. kThreads / kLanes groups make a workgroup. Few rows a group for small matrices, so
// that there are enough threads to keep the GPU busy.
// grid: (outputs / (groups · kOutputs), tokens, slots). x: [tokens (· slots), kCols]. y: [tokens (· slots), kYStride].
//
// finish:  0  y = a                       1  y = gelu(a) · b, where b is row r + kOut of the same W (gate, then up);
//          2  y = gelu(a) · aux[t, r]        half of a group's rows are gate's, half are up's
//          3  y = cap · tanh(a / cap)
// With kExperts > 0, slot s of token t uses expert ids[t, s]: W is a stack of matrices with kWRows rows each.
override kCols: u32;
override kChunks: u32 = kCols / 32u;
override kOut: u32;                 // rows of y
override kWRows: u32 = kOut;        // rows of W (of one expert)
override kYStride: u32 = kOut;
override kYOffset: u32 = 0u;
override kFinish: u32 = 0u;
override kAuxStride: u32 = 0u;
override kAuxOffset: u32 = 0u;
override kCap: f32 = 30.0;
override kExperts: u32 = 0u;        // slots a token
override kXPerSlot: u32 = 0u;       // 1: each slot has an x of its own
override kLanes: u32 = 16u;
override kThreads: u32 = 128u;
override kRounds: u32 = (kChunks + kLanes - 1u) / kLanes;
override kRows: u32 = 4u;            // of W, a group's: 1, 2 or 4
override kOutputs: u32 = select(kRows, kRows / 2u, kFinish == 1u);  // of y

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> w: array<vec4u>;
@group(0) @binding(2) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<storage, read> aux: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

// Row r (0 … kRows - 1) of the group whose first output is `first`; beyond the end the last one is repeated.
fn w_row(first: u32, r: u32) -> u32 {
    if (kFinish == 1u) { return min(first + r % kOutputs, kOut - 1u) + (r / kOutputs) * kOut; }
    return min(first + r, kOut - 1u);
}

// Σ over this thread's chunks, for the rows of its group.
fn dots(first: u32, x_base: u32, lane: u32, base_row: u32) -> vec4f {
    let rows = vec4u(w_row(first, 0u), w_row(first, 1u), w_row(first, 2u), w_row(first, 3u)) + base_row;
    var sum = vec4f();
    // A constant number of rounds, so that the compiler can unroll them and have the loads of all in flight.
    for (var round = 0u; round < kRounds; round++) {
        let c = round * kLanes + lane;
        if (kChunks % kLanes != 0u && c >= kChunks) { break; }
        let at = chunk_runs(c) / 4u + x_base;
        let xs = Chunk(x[at.x], x[at.x + 1u], x[at.x + 2u], x[at.x + 3u],
                       x[at.y], x[at.y + 1u], x[at.y + 2u], x[at.y + 3u]);
        sum.x += chunk_dot(chunk_values(rows.x, c), xs);
        if (kRows > 1u) { sum.y += chunk_dot(chunk_values(rows.y, c), xs); }
        if (kRows > 2u) {
            sum.z += chunk_dot(chunk_values(rows.z, c), xs);
            sum.w += chunk_dot(chunk_values(rows.w, c), xs);
        }
    }
    return sum;
}

fn finish(token: u32, slot: u32, row: u32, a: f32, b: f32) {
    if (row >= kOut) { return; }
    var v = a;
    if (kFinish == 1u) { v = gelu(a) * b; }
    if (kFinish == 2u) { v = gelu(a) * bitcast<f32>(aux[token * kAuxStride + kAuxOffset + row]); }
    if (kFinish == 3u) { v = softcap(a, kCap); }
    y[slot * kYStride + kYOffset + row] = v;
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let token = group.y;
    if (token >= step.tokens) { return; }
    let lane = t % kLanes;
    let first = (group.x * (kThreads / kLanes) + t / kLanes) * kOutputs;
    let slot = token * max(kExperts, 1u) + group.z;
    var base_row = 0u;
    if (kExperts > 0u) { base_row = aux[slot] * kWRows; }
    let x_row = select(token, slot, kXPerSlot == 1u) * (kCols / 4u);
    let sum = sum_lanes(dots(first, x_row, lane, base_row), t, kLanes);
    if (lane != 0u) { return; }
    finish(token, slot, first, sum.x, select(sum.y, sum.z, kRows == 4u));
    if (kOutputs > 1u) { finish(token, slot, first + 1u, sum.y, sum.w); }
    if (kOutputs > 2u) {
        finish(token, slot, first + 2u, sum.z, 0.0);
        finish(token, slot, first + 3u, sum.w, 0.0);
    }
}
