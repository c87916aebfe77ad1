// x is a norm of the residual stream, to which something may still have to be added. kCols ≤ 16 · kThreads: each thread keeps
// eight or twice eight elements in registers.
//   h' = (h + rms(delta; norms[0])) · scale (kAdd 0: h' = h · scale);
//   x = rms(h'; norms[1]) (kNext 0: x = h'). The first workgroup also stores h', where no one else reads it.
//# import lib/x_vec8
override kAdd: u32 = 0u;
override kNext: u32 = 0u;
override kEps: f32 = 1e-6;
override kVecs: u32 = kCols / 4u;

@group(0) @binding(2) var<storage, read> delta: array<vec4f>;
@group(0) @binding(3) var<storage, read> norms: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> h: array<vec4f>;

fn inv_rms(sum: f32) -> f32 { return inverseSqrt(sum / f32(kCols) + kEps); }

fn norm_vec8(i: u32) -> Vec8 { return Vec8(norms[i], norms[i + 1u]); }

// What a thread holds of a row: eight of h, of what is added (times its norm), of the next norm.
struct Held { stream: Vec8, change: Vec8, next: Vec8, squares: f32 }

fn held_at(e: u32) -> Held {
    var out = Held();
    if (8u * e >= kCols) { return out; }
    let i = 2u * e;
    out.stream = x_vec8(i);
    if (kAdd == 1u) {
        let change = Vec8(delta[i], delta[i + 1u]);
        out.squares = dot_vec8(change, change);
        out.change = times_vec8(change, norm_vec8(i));
    }
    if (kNext == 1u) { out.next = norm_vec8(kAdd * kVecs + i); }
    return out;
}

fn held_sums(a: Held) -> vec4f {
    return vec4f(a.squares, dot_vec8(a.stream, a.stream), dot_vec8(a.stream, a.change),
                 dot_vec8(a.change, a.change));
}

struct Factors { change: f32, stream: f32, next: f32 }

fn keep_held(a: Held, e: u32, t: u32, by: Factors, stores: bool) {
    var v = scaled_vec8(plus_vec8(a.stream, scaled_vec8(a.change, by.change)), by.stream);
    if (stores && 8u * e < kCols) {
        h[2u * e] = v.v0;
        h[2u * e + 1u] = v.v1;
    }
    if (kNext == 1u) { v = times_vec8(scaled_vec8(v, by.next), a.next); }
    stage_vec8(e, t, v);
}

// Both norms come from one round of sums: with c = delta · norms[0], |h + i·c|² is |h|² + 2i·(h·c) + i²·|c|².
fn prepare(t: u32, base: u32, stores: bool) {
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
    let quantised = sums.y + inverse * (2.0 * sums.z + inverse * sums.w);
    let by = Factors(inverse, scale, inv_rms(scale * scale * max(quantised, 0.0)));
    keep_held(a, t, t, by, stores);
    if (kCols > 8u * kThreads) { keep_held(b, t + kThreads, t, by, stores); }
    workgroupBarrier();
}
