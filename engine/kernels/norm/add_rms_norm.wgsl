// add_rms_norm — adds what is pending to the residual stream, and norms the sum:
//   kAdd 0:  h = h · scale
//   kAdd 1:  h = (h + rms(x; w)) · scale               (x: what the sub-layer computed)
//   kAdd 2:  h = (h + rms(rms(x; w1) + rms(x2; w2); w)) · scale
//   kNext 1: y = rms(h; w_next) · kNextScale
// h, x, x2, y: [tokens, n] f32, n a multiple of 4. One workgroup a token. Of one token, x may be several rows: their sum.
// kLimbs 1: one token, y is limbs (limbs.wgsl), kAdd is 0 or 1, n is a multiple of 8 and at most 8192. Several workgroups
// make them, 2048 elements each: all of them read the whole row once, into registers, so h is only written, and x2 is what
// it was.
// The sums of both norms are made together, as in gemv/prologue_add_rms_norm.wgsl. grid: (tokens), or (n / 2048).
//# import lib/common, $reduce, lib/limbs, lib/limbs_store
override kCols: u32;
override kAdd: u32 = 1u;
override kNext: u32 = 1u;
override kNextScale: f32 = 1.0;
override kLimbs: u32 = 0u;
override kAddends: u32 = 1u;           // rows that x is the sum of
override kEps: f32 = 1e-6;
const kThreads = 256u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<storage, read> x2: array<vec4f>;
@group(0) @binding(3) var<storage, read> w: array<vec4f>;  // w (kAdd), w1, w2 (kAdd 2), w_next (kNext): [n] each; scale
@group(0) @binding(4) var<storage, read_write> h: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> y: array<vec4u>;

override kVecs: u32 = kCols / 4u;
override kQuantGroups: u32 = (kCols + 63u) / 64u;
override kBefore: u32 = select(select(0u, 1u, kAdd == 1u), 3u, kAdd == 2u);  // arrays before w_next

fn put_word(i: u32, word: u32) { y[i / 4u][i % 4u] = word; }

fn inv_rms(sum: f32) -> f32 { return inverseSqrt(sum / f32(kCols) + kEps); }

// vec4 i of x.
fn x_at(i: u32) -> vec4f {
    var v = x[i];
    for (var part = 1u; part < kAddends; part++) { v += x[part * kVecs + i]; }
    return v;
}

// What is normed and added to h: vec4 i of the row that begins at `base`. `inner`: 1 / rms of x and of x2.
fn change(base: u32, i: u32, inner: vec2f) -> vec4f {
    if (kAdd == 0u) { return vec4f(); }
    if (kAdd == 1u) { return x_at(base + i); }
    return x[base + i] * inner.x * w[kVecs + i] + x2[base + i] * inner.y * w[2u * kVecs + i];
}

struct Row { base: u32, inner: vec2f, outer: f32, scale: f32, next: f32 }

// vec4 i of the new h, which is stored, and of y.
fn summed_up(row: Row, i: u32) -> vec4f {
    if (i >= kVecs) { return vec4f(); }
    var v = h[row.base + i];
    if (kAdd > 0u) { v += change(row.base, i, row.inner) * row.outer * w[i]; }
    v *= row.scale;
    if (kAdd > 0u || row.scale != 1.0) { h[row.base + i] = v; }
    if (kNext == 0u) { return v; }
    return v * row.next * w[kBefore * kVecs + i];
}

// What a thread holds of a row that becomes limbs: eight of the old h, of what is added, of that times its norm, and of
// w_next.
struct Held { stream: Vec8, change: Vec8, weighted: Vec8, next: Vec8 }

fn w_vec8(i: u32) -> Vec8 { return Vec8(w[i], w[i + 1u]); }

fn held(e: u32) -> Held {
    var out = Held();
    if (8u * e >= kCols) { return out; }
    let i = 2u * e;
    out.stream = Vec8(x2[i], x2[i + 1u]);
    out.next = w_vec8(kBefore * kVecs + i);
    if (kAdd > 0u) {
        out.change = Vec8(x_at(i), x_at(i + 1u));
        out.weighted = times_vec8(out.change, w_vec8(i));
    }
    return out;
}

fn held_sums(a: Held) -> vec4f {
    return vec4f(dot_vec8(a.change, a.change), dot_vec8(a.stream, a.stream), dot_vec8(a.stream, a.weighted),
                 dot_vec8(a.weighted, a.weighted));
}

// With the sums over the row of |change|², |h|², h·weighted and |weighted|²: what h and y need.
fn summed(before: Row, sums: vec4f) -> Row {
    var row = before;
    if (kAdd > 0u) { row.outer = inv_rms(sums.x); }
    let quantised = sums.y + row.outer * (2.0 * sums.z + row.outer * sums.w);
    row.next = inv_rms(row.scale * row.scale * max(quantised, 0.0)) * kNextScale;
    return row;
}

// Eight e of the new h, which is stored, and of y.
fn leave_held(row: Row, e: u32, t: u32, a: Held) {
    let v = scaled_vec8(plus_vec8(a.stream, scaled_vec8(a.weighted, row.outer)), row.scale);
    if (8u * e < kCols) {
        h[2u * e] = v.v0;
        h[2u * e + 1u] = v.v1;
    }
    store_limbs_of_vec8(e, t, times_vec8(scaled_vec8(v, row.next), a.next), kQuantGroups);
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let token = group.x;
    if (kLimbs == 0u && token >= step.tokens) { return; }
    var row = Row(token * kVecs, vec2f(), 0.0, w[(kBefore + kNext) * kVecs].x, 0.0);
    if (kAdd == 2u) {
        var squares = vec2f();
        for (var i = t; i < kVecs; i += kThreads) {
            let a = x[row.base + i];
            let b = x2[row.base + i];
            squares += vec2f(dot(a, a), dot(b, b));
        }
        let sums = first_sums(vec4f(squares, 0.0, 0.0), t, kThreads, kVecs);
        row.inner = vec2f(inv_rms(sums.x), inv_rms(sums.y));
        workgroupBarrier();
    }
    if (kLimbs == 1u) {
        let a = held(t);
        let b = held(t + kThreads);
        let c = held(t + 2u * kThreads);
        let d = held(t + 3u * kThreads);
        row = summed(row, first_sums(held_sums(a) + held_sums(b) + held_sums(c) + held_sums(d), t, kThreads, kVecs));
        var mine = a;
        if (group.x == 1u) { mine = b; }
        if (group.x == 2u) { mine = c; }
        if (group.x == 3u) { mine = d; }
        leave_held(row, group.x * kThreads + t, t, mine);
        return;
    }
    var part = vec4f();
    for (var i = t; i < kVecs; i += kThreads) {
        let v = h[row.base + i];
        part.y += dot(v, v);
        if (kAdd > 0u) {
            let c = change(row.base, i, row.inner);
            let weighted = c * w[i];
            part += vec4f(dot(c, c), 0.0, dot(v, weighted), dot(weighted, weighted));
        }
    }
    row = summed(row, first_sums(part, t, kThreads, kVecs));
    for (var i = t; i < kVecs; i += kThreads) {
        let v = summed_up(row, i);
        if (kNext == 1u) { y[row.base + i] = bitcast<vec4u>(v); }
    }
}
