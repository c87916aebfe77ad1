// batched_gemm — small matrices of floats, wherever training needs a product of two of them:
//   c[b](m, n) = (keep · c[b](m, n)) + factor · Σ_j Σ_k p[b, j](m, k) · q[b, j](n, k)
//
// Everything about the shape is read at run time, so that one pipeline does for all of them: compiling takes longer than
// multiplying. An operand is an offset and strides. b: the head, or the part of a sum that is divided among workgroups;
// j: the query heads that share a key.
// A workgroup computes a tile of 64 m × 64 n (kWide 1) or 64 m × 16 n (kWide 0, for n of the size of a rank), thread
// (tx, ty) four m and four n, or four m and one n. grid: (m / 64, n / 64 or 16, b).
//# import lib/common
override kWide: u32 = 1u;
// Drops elements of an operand or of the result, those of the inputs of an update's A, and enlarges the others.
// 1: p(m, k) is x[token m, column k]; 2: p(m, k) is x[token k, column m]; 3: c(m, n) is dx[token n, column m].
override kDropout: u32 = 0u;

struct Shape {
    m: u32, n: u32, k: u32,
    repeats: u32,                             // of j
    token_m: u32, token_n: u32, token_k: u32,  // the first token, where m, n or k counts tokens; else kNoTokens
    all_k: u32,                               // 0, or k of all b together: each has its own part
    p_at: u32, p_m: u32, p_k: u32, p_batch: u32, p_share: u32, p_repeat: u32,  // b's that share a matrix
    q_at: u32, q_n: u32, q_k: u32, q_batch: u32, q_share: u32, q_repeat: u32,
    c_at: u32, c_m: u32, c_n: u32, c_batch: u32,
    keep: u32,
    factor: f32,
    update: u32,   // of kDropout: its number,
    columns: u32,  // and of x
}
const kNoTokens = 0xFFFFFFFFu;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> shape: Shape;
@group(0) @binding(2) var<storage, read> p: array<f32>;
@group(0) @binding(3) var<storage, read> q: array<f32>;
@group(0) @binding(4) var<storage, read> dropout: array<vec4u>;  // of each update: two words of its key, probability, factor
@group(0) @binding(5) var<storage, read_write> c: array<f32>;
// [16 k, 16 groups of four]. The place of a group in its row is group ^ k: neighbouring threads then write to different
// banks whichever way they go.
var<workgroup> tile_p: array<vec4f, 256>;
var<workgroup> tile_q: array<vec4f, 256>;
var<workgroup> thin_q: array<f32, 256>;

var<private> first_k: u32;  // of this part of the sum

fn extent(most: u32, first: u32) -> u32 {
    if (first == kNoTokens) { return most; }
    return min(most, max(step.tokens, first) - first);
}

// The first word of sample/random.h's mix.
fn mixed(a: u32, b: u32, n: u32) -> u32 {
    var v = vec3u(a, b, n) * 1664525u + 1013904223u;
    for (var i = 0u; i < 2u; i++) {
        v.x += v.y * v.z;
        v.y += v.z * v.x;
        v.z += v.x * v.y;
        v ^= v >> vec3u(16u);
    }
    return v.x;
}

// 0, or what an element that is kept counts.
fn kept(token: u32, column: u32) -> f32 {
    let drop = dropout[shape.update];
    let word = mixed(drop.x, drop.y, token * shape.columns + column);
    return select(bitcast<f32>(drop.w), 0.0, f32(word >> 8u) * 0x1p-24 < bitcast<f32>(drop.z));
}

fn p_value(base: u32, m: u32, k: u32, most_m: u32, most_k: u32) -> f32 {
    if (m >= most_m || k >= most_k) { return 0.0; }
    let v = p[base + m * shape.p_m + k * shape.p_k];
    if (kDropout == 1u) { return v * kept(m, first_k + k); }
    if (kDropout == 2u) { return v * kept(k, m); }
    return v;
}

fn q_value(base: u32, n: u32, k: u32, most_n: u32, most_k: u32) -> f32 {
    if (n >= most_n || k >= most_k) { return 0.0; }
    return q[base + n * shape.q_n + k * shape.q_k];
}

fn put(at: u32, value: f32, m: u32, n: u32) {
    var v = shape.factor * value;
    if (kDropout == 3u) { v *= kept(n, m); }
    if (shape.keep != 0u) { v += c[at]; }
    c[at] = v;
}

fn put_four(base: u32, m: u32, n: u32, most_m: u32, most_n: u32, sum: vec4f) {
    if (n >= most_n) { return; }
    for (var i = 0u; i < 4u; i++) {
        if (m + i < most_m) { put(base + (m + i) * shape.c_m + n * shape.c_n, sum[i], m + i, n); }
    }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let most_m = extent(shape.m, shape.token_m);
    let most_n = extent(shape.n, shape.token_n);
    let m0 = group.x * 64u;
    let n0 = group.y * select(16u, 64u, kWide == 1u);
    if (m0 >= most_m || n0 >= most_n) { return; }
    var most_k = extent(shape.k, shape.token_k);
    let b = group.z;
    if (shape.all_k > 0u) {
        let first = b * shape.k;
        first_k = first;
        most_k = min(most_k, max(shape.all_k, first) - first);
    }
    // Who loads what: neighbouring threads take neighbouring elements.
    let low = t % 16u;
    let high = t / 16u;
    let p_k = select(high, low, shape.p_k == 1u);
    let p_m = select(low, high, shape.p_k == 1u);
    let q_k = select(high, low, shape.q_k == 1u);
    let q_n = select(low, high, shape.q_k == 1u);
    var s0 = vec4f();  // four m of one n each
    var s1 = vec4f();
    var s2 = vec4f();
    var s3 = vec4f();
    for (var j = 0u; j < shape.repeats; j++) {
        let p_base = shape.p_at + b / shape.p_share * shape.p_batch + j * shape.p_repeat;
        let q_base = shape.q_at + b / shape.q_share * shape.q_batch + j * shape.q_repeat;
        for (var k0 = 0u; k0 < most_k; k0 += 16u) {
            let m = m0 + 4u * p_m;
            let pk = k0 + p_k;
            tile_p[p_k * 16u + (p_m ^ p_k)] = vec4f(p_value(p_base, m, pk, most_m, most_k),
                                                    p_value(p_base, m + 1u, pk, most_m, most_k),
                                                    p_value(p_base, m + 2u, pk, most_m, most_k),
                                                    p_value(p_base, m + 3u, pk, most_m, most_k));
            let qk = k0 + q_k;
            if (kWide == 1u) {
                let n = n0 + 4u * q_n;
                tile_q[q_k * 16u + (q_n ^ q_k)] = vec4f(q_value(q_base, n, qk, most_n, most_k),
                                                        q_value(q_base, n + 1u, qk, most_n, most_k),
                                                        q_value(q_base, n + 2u, qk, most_n, most_k),
                                                        q_value(q_base, n + 3u, qk, most_n, most_k));
            } else {
                thin_q[q_k * 16u + q_n] = q_value(q_base, n0 + q_n, qk, most_n, most_k);
            }
            workgroupBarrier();
            for (var k = 0u; k < 16u; k++) {
                let a = tile_p[k * 16u + (low ^ k)];
                if (kWide == 1u) {
                    let v = tile_q[k * 16u + (high ^ k)];
                    s0 += a * v.x;
                    s1 += a * v.y;
                    s2 += a * v.z;
                    s3 += a * v.w;
                } else {
                    s0 += a * thin_q[k * 16u + high];
                }
            }
            workgroupBarrier();
        }
    }
    let base = shape.c_at + b * shape.c_batch;
    let m = m0 + 4u * low;
    if (kWide == 0u) {
        put_four(base, m, n0 + high, most_m, most_n, s0);
        return;
    }
    let n = n0 + 4u * high;
    put_four(base, m, n, most_m, most_n, s0);
    put_four(base, m, n + 1u, most_m, most_n, s1);
    put_four(base, m, n + 2u, most_m, most_n, s2);
    put_four(base, m, n + 3u, most_m, most_n, s3);
}
