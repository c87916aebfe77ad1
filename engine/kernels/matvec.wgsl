// matvec — y[r] = finish(Σ_i W[r, i] · x[i]), and before it whatever makes x
//
// A group of kLanes threads computes kRows rows together: each thread takes every kLanes-th unit of 64 weights, and the x
// it has loaded serves all of them. kThreads / kLanes groups make a workgroup.
// Every workgroup needs all of x, so every workgroup can make it: that costs less than another dispatch (2 µs on an H200),
// and with kAhead 1 the first weights are on their way meanwhile.
//   kSource 0: x is there already: planes, or floats (x_planes.wgsl, x_floats.wgsl)
//           1: floats, one row a token or slot
//           2: the seam between two sub-layers (kCols ≤ 16 · kThreads: each thread keeps a run in registers):
//              h' = (h + rms(delta; norms[0])) · scale (kAdd 0: h' = h · scale);
//              x = rms(h'; norms[1]) (kNext 0: x = h'). The first workgroup also stores h', where no one else reads it.
//           3: what the parts of an attention found, put together (parts.wgsl)
// grid: (outputs / (groups · kOutputs), tokens, slots).
// finish:  0  y = a                       1  y = gelu(a) · b, where b is row r + kOut of the same W (gate, then up);
//          2  y = gelu(a) · aux[t, r]        of a group's two rows one is gate's, the other up's
//          3  y = cap · tanh(a / cap)
// kPlanes 1: y becomes planes for the next product; a workgroup's outputs are a multiple of 32 then.
// With kExperts > 0, slot s of token t uses expert aux[t, s]: W is a stack of matrices with kWRows rows each.
override kCols: u32;
override kOut: u32;                 // rows of y
override kWRows: u32 = kOut;        // rows of W (of one expert)
override kYStride: u32 = kOut;
override kYOffset: u32 = 0u;
override kFinish: u32 = 0u;
override kPlanes: u32 = 0u;
override kAuxStride: u32 = 0u;
override kAuxOffset: u32 = 0u;
override kCap: f32 = 30.0;
override kTokens: u32 = 1u;         // of the grid; step says how many of several there are
override kExperts: u32 = 0u;        // slots a token
override kXPerSlot: u32 = 0u;       // 1: each slot has an x of its own
override kSource: u32 = 1u;
override kAdd: u32 = 0u;
override kNext: u32 = 0u;
override kEps: f32 = 1e-6;
override kDim: u32 = 64u;           // kSource 3: of a head
override kWindow: u32 = 0u;
override kMaxSplits: u32 = 1u;
override kLanes: u32 = 8u;
override kThreads: u32 = 128u;
override kRows: u32 = 2u;           // of W, a group's: 1, 2 or 4
override kOutputs: u32 = select(kRows, kRows / 2u, kFinish == 1u);  // of y
override kGroupOutputs: u32 = kThreads / kLanes * kOutputs;         // of a workgroup
override kAhead: u32 = 0u;          // 1: the first weights are loaded before x is prepared; kLanes ≤ kUnits then
override kRounds: u32 = (kUnits + kLanes - 1u) / kLanes;

@group(0) @binding(0) var<storage, read> w: array<vec4u>;
@group(0) @binding(1) var<storage, read> x: array<vec4u>;
@group(0) @binding(2) var<storage, read> delta: array<vec4f>;
@group(0) @binding(3) var<storage, read> norms: array<vec4f>;
@group(0) @binding(4) var<storage, read> aux: array<u32>;
@group(0) @binding(5) var<storage, read> step: Step;
@group(0) @binding(6) var<storage, read_write> h: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> y: array<u32>;
override kOutsHeld: u32 = select(1u, kGroupOutputs, kPlanes == 1u);
var<workgroup> outs: array<f32, kOutsHeld>;

override kVecs: u32 = kCols / 4u;

fn inv_rms(sum: f32) -> f32 { return 1.0 / sqrt(sum / f32(kCols) + kEps); }

fn norm_run(i: u32) -> Run { return Run(norms[i], norms[i + 1u], norms[i + 2u], norms[i + 3u]); }

// Run t of x after the seam. Both norms come from one round of sums: with c = delta · norms[0], |h + i·c|² is
// |h|² + 2i·(h·c) + i²·|c|².
fn seam(t: u32, store: bool) -> Run {
    let i = 4u * t;
    let live = 16u * t < kCols;
    let scale = norms[(kAdd + kNext) * kVecs].x;
    var stream = Run();
    var change = Run();
    var next = Run();
    var squares = 0.0;
    if (live) {
        stream = x_run(i);
        if (kAdd == 1u) {
            change = Run(delta[i], delta[i + 1u], delta[i + 2u], delta[i + 3u]);
            squares = dot_runs(change, change);
            change = times(change, norm_run(i));
        }
        if (kNext == 1u) { next = norm_run(kAdd * kVecs + i); }
    }
    let sums = first_sums(
        vec4f(squares, dot_runs(stream, stream), dot_runs(stream, change), dot_runs(change, change)), t, kThreads);
    var inverse = 0.0;
    if (kAdd == 1u) {
        inverse = inv_rms(sums.x);
        stream = plus(stream, scaled(change, inverse));
    }
    stream = scaled(stream, scale);
    if (store && live) {
        h[i] = stream.v0;
        h[i + 1u] = stream.v1;
        h[i + 2u] = stream.v2;
        h[i + 3u] = stream.v3;
    }
    if (kNext == 0u) { return stream; }
    let whole = sums.y + inverse * (2.0 * sums.z + inverse * sums.w);
    return times(scaled(stream, inv_rms(scale * scale * max(whole, 0.0))), next);
}

fn prepare(t: u32, base: u32, store: bool) {
    if (kSource == 2u) {
        keep_run(t, t, seam(t, store));
    } else {
        var splits = 1u;
        if (kSource == 3u) { splits = attention_splits(step.position + 1u, kWindow, kMaxSplits); }
        for (var first = 0u; first < 4u * kUnits; first += kThreads) {
            let r = first + t;
            var v = Run();
            if (16u * r < kCols) {
                if (kSource == 3u) { v = merged(r, splits); } else { v = x_run(base + 4u * r); }
            }
            keep_run(r, t, v);
        }
    }
    workgroupBarrier();
}

// The matrix rows of a group whose first output is `first`; beyond the end the last one again.
fn w_rows(first: u32) -> vec4u {
    if (kFinish == 1u) {
        let gates = min(vec2u(first, first + 1u), vec2u(kOut - 1u));
        return select(vec4u(gates.x, gates.x + kOut, 0u, 0u), vec4u(gates, gates + kOut), kRows == 4u);
    }
    return min(vec4u(first, first + 1u, first + 2u, first + 3u), vec4u(kOut - 1u));
}

// What a thread has loaded of each of its group's rows.
struct Loaded { w0: Weights, w1: Weights, w2: Weights, w3: Weights }

fn loaded(rows: vec4u, u: u32) -> Loaded {
    var out: Loaded;
    out.w0 = weights(rows.x, u);
    if (kRows > 1u) { out.w1 = weights(rows.y, u); }
    if (kRows > 2u) {
        out.w2 = weights(rows.z, u);
        out.w3 = weights(rows.w, u);
    }
    return out;
}

fn loaded_dots(w: Loaded, a: Activations) -> vec4f {
    var out = vec4f(weights_dot(w.w0, a), 0.0, 0.0, 0.0);
    if (kRows > 1u) { out.y = weights_dot(w.w1, a); }
    if (kRows > 2u) {
        out.z = weights_dot(w.w2, a);
        out.w = weights_dot(w.w3, a);
    }
    return out;
}

// Σ over this thread's units, for the rows of its group. With kAhead 1 the weights of the first unit are there already.
// A loop, and short: what another kernel has driven from the caches is code, too (docs/performance.md).
fn dots(rows: vec4u, lane: u32, first: Loaded) -> vec4f {
    var sum = vec4f();
    if (kAhead == 1u) { sum = loaded_dots(first, activations(lane)); }
    for (var round = kAhead; round < kRounds; round++) {
        let u = round * kLanes + lane;
        if (kUnits % kLanes != 0u && u >= kUnits) { break; }
        sum += loaded_dots(loaded(rows, u), activations(u));
    }
    return sum;
}

fn finish(token: u32, slot: u32, row: u32, place: u32, a: f32, b: f32) {
    if (row >= kOut) { return; }
    var v = a;
    if (kFinish == 1u) { v = gelu(a) * b; }
    if (kFinish == 2u) { v = gelu(a) * bitcast<f32>(aux[token * kAuxStride + kAuxOffset + row]); }
    if (kFinish == 3u) { v = softcap(a, kCap); }
    if (kPlanes == 1u) {
        outs[place] = v;
    } else {
        y[slot * kYStride + kYOffset + row] = bitcast<u32>(v);
    }
}

// One word of the planes of this workgroup's outputs, 24 words for each 32 of them.
fn store_planes(first: u32, i: u32) {
    let half = i / 24u;
    let at = 32u * half;
    let element = first + at;  // of y
    if (element >= kOut) { return; }
    let plane = i % 24u / 8u;
    let word = i % 8u;
    var largest = 0.0;
    for (var j = 0u; j < 32u; j++) { largest = max(largest, abs(outs[at + j])); }
    let begin = at + 4u * word;
    let z = whole(vec4f(outs[begin], outs[begin + 1u], outs[begin + 2u], outs[begin + 3u]), inverse_of(largest));
    let units = kOut / 64u;
    let run = element / 32u % 2u * 2u + word / 4u;
    y[((plane * 4u + run) * units + element / 64u) * 4u + word % 4u] = plane_word(z, plane);
    if (plane != 0u || word % 4u != 0u) { return; }
    let tail = 4u * (12u * units + 2u * (element / 64u));
    var sum = 0.0;
    for (var j = 0u; j < 16u; j++) { sum += outs[at + 4u * word + j]; }
    y[tail + 4u + run] = bitcast<u32>(sum);
    if (word == 0u) { y[tail + run / 2u] = bitcast<u32>(largest / kLargest); }
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let token = group.y;
    if (kTokens > 1u && token >= step.tokens) { return; }
    let lane = t % kLanes;
    let place = t / kLanes * kOutputs;
    let first = group.x * kGroupOutputs + place;
    let slot = token * max(kExperts, 1u) + group.z;
    var base_row = 0u;
    if (kExperts > 0u) { base_row = aux[slot] * kWRows; }
    let rows = w_rows(first) + base_row;
    var ahead: Loaded;
    if (kAhead == 1u) { ahead = loaded(rows, lane); }
    if (kSource != 0u) { prepare(t, select(token, slot, kXPerSlot == 1u) * kVecs, group.x == 0u && group.z == 0u); }
    let sum = sum_lanes(dots(rows, lane, ahead), t, kLanes);
    if (lane == 0u) {
        for (var i = 0u; i < kOutputs; i++) {
            let pair = select(0.0, sum[i + kOutputs], kFinish == 1u);
            finish(token, slot, first + i, place + i, sum[i], pair);
        }
    }
    if (kPlanes == 0u) { return; }
    workgroupBarrier();
    for (var i = t; i < kGroupOutputs / 32u * 24u; i += kThreads) { store_planes(group.x * kGroupOutputs, i); }
}
