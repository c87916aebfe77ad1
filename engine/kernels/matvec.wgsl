// matvec — y[t, r] = finish(Σ_i W[r, i] · x[t, i])
//
// A group of kLanes threads computes four rows together: each thread takes every kLanes-th chunk of 32 weights, and the
// x it has loaded serves all four. kThreads / kLanes groups make a workgroup.
// grid: (outputs / (groups · kOutputs), tokens, slots). x: [tokens (· slots), kCols]. y: [tokens (· slots), kYStride].
//
// finish:  0  y = a                       1  y = gelu(a) · b, where b is row r + kOut of the same W (gate, then up);
//          2  y = gelu(a) · aux[t, r]        of a group's four rows two are gate's and two are up's
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
override kOutputs: u32 = select(4u, 2u, kFinish == 1u);  // a group's

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> w: array<vec4u>;
@group(0) @binding(2) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<storage, read> aux: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
var<workgroup> partial: array<vec4f, kThreads>;

// Row r (0 … 3) of the group whose first output is `first`; beyond the end the last one is repeated.
fn w_row(first: u32, r: u32) -> u32 {
    if (kFinish == 1u) { return min(first + r % 2u, kOut - 1u) + (r / 2u) * kOut; }
    return min(first + r, kOut - 1u);
}

// Σ over this thread's chunks, for the four rows of its group.
fn dots(first: u32, x_base: u32, lane: u32, base_row: u32) -> vec4f {
    let rows = vec4u(w_row(first, 0u), w_row(first, 1u), w_row(first, 2u), w_row(first, 3u)) + base_row;
    var sum = vec4f();
    for (var c = lane; c < kChunks; c += kLanes) {
        let runs = chunk_runs(c) / 4u + x_base;
        var xs: array<vec4f, 8>;
        for (var i = 0u; i < 4u; i++) {
            xs[i] = x[runs.x + i];
            xs[i + 4u] = x[runs.y + i];
        }
        for (var r = 0u; r < 4u; r++) {
            var values = chunk_values(rows[r], c);
            var a = dot(values[0], xs[0]);
            for (var i = 1u; i < 8u; i++) { a += dot(values[i], xs[i]); }
            sum[r] += a;
        }
    }
    return sum;
}

// The sum over the lanes of a group, in its first thread.
fn reduce(value: vec4f, t: u32, lane: u32) -> vec4f {
    partial[t] = value;
    for (var half = kLanes / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { partial[t] += partial[t + half]; }
    }
    workgroupBarrier();
    return partial[t];
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
    let sum = reduce(dots(first, x_row, lane, base_row), t, lane);
    if (lane != 0u) { return; }
    for (var r = 0u; r < kOutputs; r++) {
        let row = first + r;
        if (row >= kOut) { return; }
        var v = sum[r];
        if (kFinish == 1u) { v = gelu(v) * sum[r + 2u]; }
        if (kFinish == 2u) { v = gelu(v) * bitcast<f32>(aux[token * kAuxStride + kAuxOffset + row]); }
        if (kFinish == 3u) { v = softcap(v, kCap); }
        y[slot * kYStride + kYOffset + row] = v;
    }
}
