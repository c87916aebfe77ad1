// gemm — the same as gemv for many rows at once: y[t, r] = epilogue(Σ_i W[r, i] · x[t, i])
//
// A workgroup computes a tile of 16 kRowsPerThread rows × 8 kDown tokens; thread (tx, ty) the rows tx + 16 i and the tokens
// ty + kDown j. A step takes 32 weights of each row, decoded once into workgroup memory and used by all tokens of the
// tile; what the next step needs is on its way meanwhile. Which tile a product gets: gemm_tiling.h.
//   $epilogue   what is done with a result; with a gate, a thread's rows are gate's and up's in turn
//   $rows       all rows of x, or those of each expert; and as what their elements are taken
// grid: (tiles of tokens, outputs / kOutputs): neighbours share their weights.
//# import lib/common, $weights, $epilogue, $rows
override kCols: u32;
override kChunks: u32 = kCols / 32u;
override kOut: u32;
override kYStride: u32 = kOut;
override kYOffset: u32 = 0u;
override kRowsPerThread: u32 = 4u;  // rows of a thread, up to 8; even with finish 1
override kShare: u32 = 1u;  // rows that share a row of x
override kDown: u32 = 8u;  // threads along the tokens: 4, 8 or 16, at least kRowsPerThread
override kThreads: u32 = 16u * kDown;
override kTileRows: u32 = 16u * kRowsPerThread;
override kTokens: u32 = 8u * kDown;
override kOutputs: u32 = select(kTileRows, kTileRows / 2u, kGate);  // a tile's

// Of the rows of an expert (0: all of them) those from `first` on; there are `end`.
struct RowTile { expert: u32, first: u32, end: u32 }

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> w: array<vec4u>;
@group(0) @binding(2) var<storage, read> x: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> y: array<f32>;
// [8 vec4 of k, row or token]: neighbouring threads read neighbouring places.
override kTileWVecs: u32 = 8u * kTileRows;
override kTileXVecs: u32 = 8u * kTokens;
var<workgroup> tile_w: array<vec4f, kTileWVecs>;
var<workgroup> tile_x: array<vec4f, kTileXVecs>;

// Row r of the tile that begins with output `first`; beyond the end the last one is repeated.
fn w_row(expert: u32, first: u32, r: u32) -> u32 {
    if (kGate) {
        return (2u * expert + r / 16u % 2u) * kOut + min(first + r / 32u * 16u + r % 16u, kOut - 1u);
    }
    return expert * kOut + min(first + r, kOut - 1u);
}

// s + m · a, one product after the other
fn more(s: vec4f, m: mat4x4f, a: vec4f) -> vec4f {
    return fma(m[3], vec4f(a.w), fma(m[2], vec4f(a.z), fma(m[1], vec4f(a.y), fma(m[0], vec4f(a.x), s))));
}

fn finish(token: u32, row: u32, a: f32, b: f32) {
    if (row >= kOut) { return; }
    let v = epilogue_at(token, row, a, b);
    y[token * kYStride + kYOffset + row] = v;
}

// Four of a thread's rows, from the i-th on, of the token that comes `at`-th.
fn finish_token(expert: u32, at: u32, tokens: u32, row: u32, i: u32, v: vec4f) {
    if (at >= tokens) { return; }
    let token = token_at(expert, at);
    if (kGate) {
        if (i < kRowsPerThread) { finish(token, row + 8u * i, v.x, v.y); }
        if (i + 2u < kRowsPerThread) { finish(token, row + 8u * i + 16u, v.z, v.w); }
        return;
    }
    if (i < kRowsPerThread) { finish(token, row + 16u * i, v.x, 0.0); }
    if (i + 1u < kRowsPerThread) { finish(token, row + 16u * i + 16u, v.y, 0.0); }
    if (i + 2u < kRowsPerThread) { finish(token, row + 16u * i + 32u, v.z, 0.0); }
    if (i + 3u < kRowsPerThread) { finish(token, row + 16u * i + 48u, v.w, 0.0); }
}

fn finish_four(expert: u32, at: u32, tokens: u32, row: u32, i: u32, m: mat4x4f) {
    for (var j = 0u; j < 4u; j++) { finish_token(expert, at + j * kDown, tokens, row, i, m[j]); }
}

fn put(at: u32, v: Vec16) {
    tile_w[at] = v.v0;
    tile_w[at + kTileRows] = v.v1;
    tile_w[at + 2u * kTileRows] = v.v2;
    tile_w[at + 3u * kTileRows] = v.v3;
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let first = group.y * kOutputs;
    let tile = row_tile(group.x);
    let expert = tile.expert;
    let token0 = tile.first;
    let tokens = tile.end;
    if (token0 >= tokens) { return; }
    // Eight neighbouring threads fill eight neighbouring places. Each brings one or two runs of 16 weights, and four
    // vec4 of x.
    let r = t % 8u + t / 16u * 8u;
    let r2 = r + 8u * kDown;
    let run = t / 8u % 2u;
    let row = w_row(expert, first, r);
    let row2 = w_row(expert, first, r2);
    let token = t % 8u + t / 64u * 8u;
    let xk = t / 8u % 8u;
    let last = tokens - 1u;
    let x0 = token_at(expert, min(token0 + token, last)) / kShare * (kCols / 4u) + xk;
    let x1 = token_at(expert, min(token0 + token + 2u * kDown, last)) / kShare * (kCols / 4u) + xk;
    let x2 = token_at(expert, min(token0 + token + 4u * kDown, last)) / kShare * (kCols / 4u) + xk;
    let x3 = token_at(expert, min(token0 + token + 6u * kDown, last)) / kShare * (kCols / 4u) + xk;
    let to_w = run * 4u * kTileRows + r;
    let to_x = xk * kTokens + token;
    // Only %, / and +, with which a compiler sees that no index leaves the tiles. A warp is 8 × 4 threads.
    let tx = t / 2u % 2u + t / 8u % 4u * 2u + t / 32u % 2u * 8u;
    let ty = t % 2u + t / 4u % 2u * 2u + t / 64u * 4u;
    // s: rows of the first four tokens, t: of the others
    var s0 = vec4f();
    var s1 = vec4f();
    var s2 = vec4f();
    var s3 = vec4f();
    var s4 = vec4f();
    var s5 = vec4f();
    var s6 = vec4f();
    var s7 = vec4f();
    var t0 = vec4f();
    var t1 = vec4f();
    var t2 = vec4f();
    var t3 = vec4f();
    var t4 = vec4f();
    var t5 = vec4f();
    var t6 = vec4f();
    var t7 = vec4f();
    var a = packed_1(row, run);
    var b: Packed_1;
    if (2u * kTileRows > kThreads) { b = packed_1(row2, run); }
    var v0 = x[x0];
    var v1 = x[x1];
    var v2 = x[x2];
    var v3 = x[x3];
    for (var c = 0u; c < kChunks; c++) {
        tile_x[to_x] = taken(v0);
        tile_x[to_x + 2u * kDown] = taken(v1);
        tile_x[to_x + 4u * kDown] = taken(v2);
        tile_x[to_x + 6u * kDown] = taken(v3);
        if (2u * kTileRows >= kThreads || r < kTileRows) { put(to_w, unpacked_1(a)); }
        if (2u * kTileRows > kThreads) {
            if (r2 < kTileRows) { put(to_w + 8u * kDown, unpacked_1(b)); }
        }
        workgroupBarrier();
        let next = min(c + 1u, kChunks - 1u);
        a = packed_1(row, 2u * next + run);
        if (2u * kTileRows > kThreads) { b = packed_1(row2, 2u * next + run); }
        v0 = x[x0 + 8u * next];
        v1 = x[x1 + 8u * next];
        v2 = x[x2 + 8u * next];
        v3 = x[x3 + 8u * next];
        // On an H200 a loop takes a tenth longer. Small tiles are for small products, which it is not worth compiling for.
        //# unroll if kRowsPerThread > 4u
        for (var k = 0u; k < 8u; k++) {
            let i = k * kTileRows + tx;
            let j = k * kTokens + ty;
            let p = transpose(mat4x4f(tile_x[j], tile_x[j + kDown], tile_x[j + 2u * kDown], tile_x[j + 3u * kDown]));
            let q = transpose(mat4x4f(tile_x[j + 4u * kDown], tile_x[j + 5u * kDown], tile_x[j + 6u * kDown],
                                      tile_x[j + 7u * kDown]));
            { let a = tile_w[i]; s0 = more(s0, p, a); t0 = more(t0, q, a); }
            if (kRowsPerThread > 1u) { let a = tile_w[i + 16u]; s1 = more(s1, p, a); t1 = more(t1, q, a); }
            if (kRowsPerThread > 2u) { let a = tile_w[i + 32u]; s2 = more(s2, p, a); t2 = more(t2, q, a); }
            if (kRowsPerThread > 3u) { let a = tile_w[i + 48u]; s3 = more(s3, p, a); t3 = more(t3, q, a); }
            if (kRowsPerThread > 4u) { let a = tile_w[i + 64u]; s4 = more(s4, p, a); t4 = more(t4, q, a); }
            if (kRowsPerThread > 5u) { let a = tile_w[i + 80u]; s5 = more(s5, p, a); t5 = more(t5, q, a); }
            if (kRowsPerThread > 6u) { let a = tile_w[i + 96u]; s6 = more(s6, p, a); t6 = more(t6, q, a); }
            if (kRowsPerThread > 7u) { let a = tile_w[i + 112u]; s7 = more(s7, p, a); t7 = more(t7, q, a); }
        }
        //# end
        workgroupBarrier();
    }
    let at = token0 + ty;
    let out = first + tx;
    finish_four(expert, at, tokens, out, 0u, transpose(mat4x4f(s0, s1, s2, s3)));
    finish_four(expert, at + 4u * kDown, tokens, out, 0u, transpose(mat4x4f(t0, t1, t2, t3)));
    if (kRowsPerThread > 4u) {
        finish_four(expert, at, tokens, out, 4u, transpose(mat4x4f(s4, s5, s6, s7)));
        finish_four(expert, at + 4u * kDown, tokens, out, 4u, transpose(mat4x4f(t4, t5, t6, t7)));
    }
}
