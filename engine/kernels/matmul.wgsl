// matmul — the same as matvec for many tokens at once: y[t, r] = finish(Σ_i W[r, i] · x[t, i])
//
// A workgroup computes a tile of 64 rows × 64 tokens; thread (tx, ty) the rows tx + 16 i and the tokens ty + 16 j. A step
// takes 32 weights of each row: decoded once into workgroup memory, used by 64 tokens.
// With kExperts, W is a stack of that many matrices and the tokens are slots: those of each expert as train/expert_lists.wgsl
// has them, at most kMost each; kShare of them share a row of x. grid: (…, kExperts · kMost / 64).
// grid: (outputs / kOutputs, tokens / 64). finish as in matvec: with 1, the tile's first 32 rows are gate's, the others up's.
override kCols: u32;
override kChunks: u32 = kCols / 32u;
override kOut: u32;
override kYStride: u32 = kOut;
override kYOffset: u32 = 0u;
override kFinish: u32 = 0u;
override kAuxStride: u32 = 0u;
override kAuxOffset: u32 = 0u;
override kCap: f32 = 30.0;
override kExperts: u32 = 0u;
override kMost: u32 = 64u;
override kShare: u32 = 1u;
override kTiles: u32 = (kMost + 63u) / 64u;
override kOutputs: u32 = select(64u, 32u, kFinish == 1u);  // a tile's

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> w: array<vec4u>;
@group(0) @binding(2) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<storage, read> aux: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
// [row or token, 8 vec4 of k]. The place of a vec4 in its row is k ^ (row % 8): neighbouring threads then read from
// different banks. 16 KiB together, which every device has.
var<workgroup> tile_w: array<vec4f, 64 * 8>;
var<workgroup> tile_x: array<vec4f, 64 * 8>;

// Row r (0 … 63) of the tile that begins with output `first`; beyond the end the last one is repeated.
fn w_row(first: u32, r: u32) -> u32 {
    if (kFinish == 1u) { return min(first + r % 32u, kOut - 1u) + (r / 32u) * kOut; }
    return min(first + r, kOut - 1u);
}

// Where the token is that comes `i`-th.
fn token_at(expert: u32, i: u32) -> u32 {
    if (kExperts == 0u) { return i; }
    return aux[kExperts + expert * kMost + i];
}

fn finish(token: u32, row: u32, a: f32, b: f32) {
    if (row >= kOut) { return; }
    var v = a;
    if (kFinish == 1u) { v = gelu(a) * b; }
    if (kFinish == 2u) { v = gelu(a) * bitcast<f32>(aux[token * kAuxStride + kAuxOffset + row]); }
    if (kFinish == 3u) { v = softcap(a, kCap); }
    y[token * kYStride + kYOffset + row] = v;
}

fn finish_token(token: u32, first: u32, tx: u32, sum: vec4f) {
    if (kFinish == 1u) {
        finish(token, first + tx, sum.x, sum.z);
        finish(token, first + tx + 16u, sum.y, sum.w);
        return;
    }
    finish(token, first + tx, sum.x, 0.0);
    finish(token, first + tx + 16u, sum.y, 0.0);
    finish(token, first + tx + 32u, sum.z, 0.0);
    finish(token, first + tx + 48u, sum.w, 0.0);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let first = group.x * kOutputs;
    var expert = 0u;
    var token0 = group.y * 64u;
    var tokens = step.tokens;
    if (kExperts > 0u) {
        expert = group.y / kTiles;
        token0 = group.y % kTiles * 64u;
        tokens = aux[expert];
    }
    if (token0 >= tokens) { return; }
    // Quarters of the workgroup fill the tiles: two threads a row of W, two a token; each brings a run of 16.
    let lane = t % 64u;
    let second = (t / 64u) % 2u == 1u;
    let row = expert * kOut * select(1u, 2u, kFinish == 1u) + w_row(first, lane);
    let x_base = token_at(expert, min(token0 + lane, tokens - 1u)) / kShare * (kCols / 4u);
    let place = lane * 8u;
    let k0 = select(0u, 4u, second);
    let swap = lane % 8u;
    let tx = t % 16u;
    let ty = t / 16u;
    var s0 = vec4f();  // rows of one token each
    var s1 = vec4f();
    var s2 = vec4f();
    var s3 = vec4f();
    for (var c = 0u; c < kChunks; c++) {
        if (t < 128u) {
            let v = run_values(row, 2u * c + k0 / 4u);
            tile_w[place + (k0 ^ swap)] = v.v0;
            tile_w[place + ((k0 + 1u) ^ swap)] = v.v1;
            tile_w[place + ((k0 + 2u) ^ swap)] = v.v2;
            tile_w[place + ((k0 + 3u) ^ swap)] = v.v3;
        } else {
            let at = x_base + 8u * c + k0;
            tile_x[place + (k0 ^ swap)] = x[at];
            tile_x[place + ((k0 + 1u) ^ swap)] = x[at + 1u];
            tile_x[place + ((k0 + 2u) ^ swap)] = x[at + 2u];
            tile_x[place + ((k0 + 3u) ^ swap)] = x[at + 3u];
        }
        workgroupBarrier();
        for (var k = 0u; k < 8u; k++) {
            let i = tx * 8u + (k ^ (tx % 8u));
            let j = ty * 8u + (k ^ (ty % 8u));
            let a0 = tile_w[i];
            let a1 = tile_w[i + 128u];
            let a2 = tile_w[i + 256u];
            let a3 = tile_w[i + 384u];
            let b0 = tile_x[j];
            s0 += vec4f(dot(a0, b0), dot(a1, b0), dot(a2, b0), dot(a3, b0));
            let b1 = tile_x[j + 128u];
            s1 += vec4f(dot(a0, b1), dot(a1, b1), dot(a2, b1), dot(a3, b1));
            let b2 = tile_x[j + 256u];
            s2 += vec4f(dot(a0, b2), dot(a1, b2), dot(a2, b2), dot(a3, b2));
            let b3 = tile_x[j + 384u];
            s3 += vec4f(dot(a0, b3), dot(a1, b3), dot(a2, b3), dot(a3, b3));
        }
        workgroupBarrier();
    }
    let i = token0 + ty;
    if (i < tokens) { finish_token(token_at(expert, i), first, tx, s0); }
    if (i + 16u < tokens) { finish_token(token_at(expert, i + 16u), first, tx, s1); }
    if (i + 32u < tokens) { finish_token(token_at(expert, i + 32u), first, tx, s2); }
    if (i + 48u < tokens) { finish_token(token_at(expert, i + 48u), first, tx, s3); }
}
