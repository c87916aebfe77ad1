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
//           3: what the parts of an attention found, put together (attention_decode.wgsl); delta has their stats
//           4: planes, as for 0, which the workgroup copies into its own memory first: worth it where it has many rows
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
override kRows: u32 = 2u;           // of W, a group's: 1 or 2
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

fn times(a: Run, b: Run) -> Run { return Run(a.v0 * b.v0, a.v1 * b.v1, a.v2 * b.v2, a.v3 * b.v3); }

fn plus(a: Run, b: Run) -> Run { return Run(a.v0 + b.v0, a.v1 + b.v1, a.v2 + b.v2, a.v3 + b.v3); }

fn x_run(i: u32) -> Run {
    return Run(bitcast<vec4f>(x[i]), bitcast<vec4f>(x[i + 1u]), bitcast<vec4f>(x[i + 2u]), bitcast<vec4f>(x[i + 3u]));
}

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

// (largest, sum) of part s of a head whose first part is `first`; delta holds two a vec4.
fn part_stats(first: u32, s: u32, splits: u32) -> vec2f {
    if (s >= splits) { return vec2f(-3.0e38, 0.0); }
    let two = delta[(first + s) / 2u];
    return select(two.xy, two.zw, s % 2u == 1u);
}

// What the parts found for run r of the heads' outputs, four parts at a time.
fn merged(r: u32, splits: u32) -> Run {
    let first = 16u * r / kDim * kMaxSplits;
    let stride = kDim / 4u;
    let at = first * stride + 4u * (r % (kDim / 16u));
    var largest = -3.0e38;
    var sum = 0.0;
    var v = Run();
    for (var s = 0u; s < splits; s += 4u) {
        let last = splits - 1u;
        let v0 = x_run(at + s * stride);
        let v1 = x_run(at + min(s + 1u, last) * stride);
        let v2 = x_run(at + min(s + 2u, last) * stride);
        let v3 = x_run(at + min(s + 3u, last) * stride);
        let t0 = part_stats(first, s, splits);
        let t1 = part_stats(first, s + 1u, splits);
        let t2 = part_stats(first, s + 2u, splits);
        let t3 = part_stats(first, s + 3u, splits);
        let next = max(largest, max(max(t0.x, t1.x), max(t2.x, t3.x)));
        let p = exp(vec4f(t0.x, t1.x, t2.x, t3.x) - next);
        let fade = exp(largest - next);
        largest = next;
        sum = sum * fade + dot(p, vec4f(t0.y, t1.y, t2.y, t3.y));
        v = plus(plus(scaled(v, fade), plus(scaled(v0, p.x), scaled(v1, p.y))),
                 plus(scaled(v2, p.z), scaled(v3, p.w)));
    }
    return scaled(v, 1.0 / sum);
}

fn prepare(t: u32, base: u32, store: bool) {
    if (kSource == 2u) {
        keep_run(t, t, seam(t, store));
    } else if (kSource == 4u) {
        keep_planes(t);
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

// The matrix row of the group's output `first`, and of the second row it computes; beyond the end the last one again.
fn w_rows(first: u32) -> vec2u {
    let row = min(first, kOut - 1u);
    return vec2u(row, select(min(first + 1u, kOut - 1u), row + kOut, kFinish == 1u));
}

// Σ over this thread's units, for the rows of its group. With kAhead 1 the weights of the first unit are there already.
fn dots(rows: vec2u, lane: u32, w0: Weights, w1: Weights) -> vec2f {
    var sum = vec2f();
    if (kAhead == 1u) {
        let a = activations(lane);
        sum.x = weights_dot(w0, a);
        if (kRows > 1u) { sum.y = weights_dot(w1, a); }
    }
    for (var round = kAhead; round < kRounds; round++) {
        let u = round * kLanes + lane;
        if (kUnits % kLanes != 0u && u >= kUnits) { break; }
        let b = activations(u);
        sum.x += weights_dot(weights(rows.x, u), b);
        if (kRows > 1u) { sum.y += weights_dot(weights(rows.y, u), b); }
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
    var w0: Weights;
    var w1: Weights;
    if (kAhead == 1u) {
        w0 = weights(rows.x, lane);
        if (kRows > 1u) { w1 = weights(rows.y, lane); }
    }
    if (kSource != 0u) { prepare(t, select(token, slot, kXPerSlot == 1u) * kVecs, group.x == 0u && group.z == 0u); }
    let sum = sum_lanes(vec4f(dots(rows, lane, w0, w1), 0.0, 0.0), t, kLanes);
    if (lane == 0u) {
        finish(token, slot, first, place, sum.x, sum.y);
        if (kOutputs > 1u) { finish(token, slot, first + 1u, place + 1u, sum.y, 0.0); }
    }
    if (kPlanes == 0u) { return; }
    workgroupBarrier();
    for (var i = t; i < kGroupOutputs / 32u * 24u; i += kThreads) { store_planes(group.x * kGroupOutputs, i); }
}
