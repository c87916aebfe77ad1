// matvec — y[r] = finish(Σ_i W[r, i] · x[i]), and before it whatever makes x
//
// A group of kLanes threads computes kRows rows together: each thread takes every kLanes-th unit of 64 weights, and the x
// it has loaded serves all of them. kThreads / kLanes groups make a workgroup.
// Every workgroup needs all of x, so every workgroup can make it: that costs less than another dispatch (2 µs on an H200),
// and with kAhead 1 the first weights are on their way meanwhile.
//   kSource 0: x is there already: planes, or floats (x_planes.wgsl, x_floats.wgsl)
//           1: floats, one row a token or slot
//           2: the seam between two sub-layers (kCols ≤ 16 · kThreads: each thread keeps eight or twice eight in registers):
//              h' = (h + rms(delta; norms[0])) · scale (kAdd 0: h' = h · scale);
//              x = rms(h'; norms[1]) (kNext 0: x = h'). The first workgroup also stores h', where no one else reads it.
//           3: what the parts of an attention found, put together (parts.wgsl)
// grid: (outputs / (groups · kOutputs), tokens, slots).
// finish:  0  y = a                       1  y = gelu(a) · b, where b is row r + kOut of the same W (gate, then up);
//          2  y = gelu(a) · aux[t, r]        of a group's two rows one is gate's, the other up's
//          3  y = cap · tanh(a / cap)
// kPlanes 1: y becomes planes for the next product; a workgroup's outputs are a multiple of 32 then.
// Some of the last rows may be in another format than the first (two_formats.wgsl).
// With kExperts > 0, slot s of token t uses expert aux[t, s]: W is a stack of matrices with kWRows rows each.
//# import common, $reduce, planes, plane_rows, parts, $weights, $activations, $dot, loaded, row_dots, $formats
override kCols: u32;
override kOut: u32 = 0xFFFFFFFFu;   // rows of y; where nothing else needs it, as many as the grid has
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
override kGroupOutputs: u32 = kThreads / kLanes * kOutputs;  // of a workgroup
override kAhead: u32 = 0u;          // 1: the first weights are loaded before x is prepared
override kRounds: u32 = (kUnits_1 + kLanes - 1u) / kLanes;

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

fn inv_rms(sum: f32) -> f32 { return inverseSqrt(sum / f32(kCols) + kEps); }

fn norm_eight(i: u32) -> Eight { return Eight(norms[i], norms[i + 1u]); }

// What a thread holds of a row at the seam: eight of h, of what is added (times its norm), of the next norm.
struct Held { stream: Eight, change: Eight, next: Eight, squares: f32 }

fn held_at(e: u32) -> Held {
    var out = Held();
    if (8u * e >= kCols) { return out; }
    let i = 2u * e;
    out.stream = x_eight(i);
    if (kAdd == 1u) {
        let change = Eight(delta[i], delta[i + 1u]);
        out.squares = dot_eights(change, change);
        out.change = times_eight(change, norm_eight(i));
    }
    if (kNext == 1u) { out.next = norm_eight(kAdd * kVecs + i); }
    return out;
}

fn held_sums(a: Held) -> vec4f {
    return vec4f(a.squares, dot_eights(a.stream, a.stream), dot_eights(a.stream, a.change),
                 dot_eights(a.change, a.change));
}

// What is multiplied with at the seam.
struct Factors { change: f32, stream: f32, next: f32 }

fn keep_held(a: Held, e: u32, t: u32, by: Factors, store: bool) {
    var v = scaled_eight(plus_eight(a.stream, scaled_eight(a.change, by.change)), by.stream);
    if (store && 8u * e < kCols) {
        h[2u * e] = v.v0;
        h[2u * e + 1u] = v.v1;
    }
    if (kNext == 1u) { v = times_eight(scaled_eight(v, by.next), a.next); }
    keep_eight(e, t, v);
}

// Both norms come from one round of sums: with c = delta · norms[0], |h + i·c|² is |h|² + 2i·(h·c) + i²·|c|².
fn keep_seam(t: u32, store: bool) {
    let scale = norms[(kAdd + kNext) * kVecs].x;
    let a = held_at(t);
    var b = Held();
    var part = held_sums(a);
    if (kCols > 8u * kThreads) {
        b = held_at(t + kThreads);
        part += held_sums(b);
    }
    let sums = first_sums(part, t, kThreads, (kCols + 7u) / 8u);
    var inverse = 0.0;
    if (kAdd == 1u) { inverse = inv_rms(sums.x); }
    let whole = sums.y + inverse * (2.0 * sums.z + inverse * sums.w);
    let by = Factors(inverse, scale, inv_rms(scale * scale * max(whole, 0.0)));
    keep_held(a, t, t, by, store);
    if (kCols > 8u * kThreads) { keep_held(b, t + kThreads, t, by, store); }
}

fn prepare(t: u32, base: u32, store: bool) {
    if (kSource == 2u) {
        keep_seam(t, store);
    } else {
        var splits = 1u;
        if (kSource == 3u) { splits = attention_splits(step.position + 1u, kWindow, kMaxSplits); }
        for (var first = 0u; first < 8u * kUnits_1; first += kThreads) {
            let e = first + t;
            var v = Eight();
            if (8u * e < kCols) {
                if (kSource == 3u) { v = merged(e, splits); } else { v = x_eight(base + 2u * e); }
            }
            keep_eight(e, t, v);
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

// `b`: what the finish needs besides a.
fn finish(slot: u32, row: u32, place: u32, a: f32, b: f32) {
    if (row >= kOut) { return; }
    var v = a;
    if (kFinish == 1u || kFinish == 2u) { v = gelu(a) * b; }
    if (kFinish == 3u) { v = softcap(a, kCap); }
    if (kPlanes == 1u) {
        outs[place] = v;
    } else {
        y[slot * kYStride + kYOffset + row] = bitcast<u32>(v);
    }
}

fn put_word(i: u32, word: u32) { y[i] = word; }

// The planes of this workgroup's outputs, of which the first is output `first`.
fn leave_outputs(first: u32, t: u32) {
    var v = Eight();
    let i = 8u * t;
    if (i < kGroupOutputs) {
        v = Eight(vec4f(outs[i], outs[i + 1u], outs[i + 2u], outs[i + 3u]),
                  vec4f(outs[i + 4u], outs[i + 5u], outs[i + 6u], outs[i + 7u]));
    }
    // Threads without outputs come along, and their eight is beyond the end.
    let e = select(kOut, first / 8u + t, i < kGroupOutputs);
    leave_eight(e, t, v, kOut / 64u);
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
    var ahead: Ahead;
    if (kAhead == 1u) { ahead = loaded_ahead(rows, min(lane, kUnits_1 - 1u)); }
    var factors = vec4f();  // asked for now: at the end everybody would wait for them
    if (kFinish == 2u) {
        for (var i = 0u; i < kOutputs; i++) { factors[i] = bitcast<f32>(aux[token * kAuxStride + kAuxOffset + rows[i]]); }
    }
    if (kSource != 0u) { prepare(t, select(token, slot, kXPerSlot == 1u) * kVecs, group.x == 0u && group.z == 0u); }
    let sum = sum_rows(all_dots(rows, lane, ahead), t, kLanes, kRows);
    if (lane == 0u) {
        for (var i = 0u; i < kOutputs; i++) {
            var other = factors[i];
            if (kFinish == 1u) { other = sum[i + kOutputs]; }
            finish(slot, first + i, place + i, sum[i], other);
        }
    }
    if (kPlanes == 0u) { return; }
    workgroupBarrier();
    leave_outputs(group.x * kGroupOutputs, t);
}
