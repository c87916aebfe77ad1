// gemm_transposed — the gradient of gemm.wgsl by its input: dx[t, i] = (dx[t, i]) + Σ_r W[r, i] · dy[t, r]
//
// A workgroup computes a tile of 64 columns × 64 tokens; thread (tx, ty) four of each. A step takes 32 rows of W: decoded
// once into workgroup memory, used by 64 tokens. kCols: a multiple of 16; strides and offsets of dy: multiples of 4.
//   $rows       all tokens, or those of each expert, whose matrix of kRows rows is one of a stack
// grid: (kCols / 64, tokens / 64).
// A matrix of very many rows is better split: with kSplits each part of them makes a dx of its own, kSplitVecs vec4 after that of
// the part before, for sum_partials. grid: (kCols / 64, tokens / 64, kSplits).
//# import lib/common, $weights, $rows
override kCols: u32;
override kRows: u32;
override kYStride: u32 = kRows;
override kYOffset: u32 = 0u;
override kAdd: u32 = 0u;
override kSplits: u32 = 1u;
override kSplitVecs: u32 = 0u;
override kSplitRows: u32 = (kRows + 32u * kSplits - 1u) / (32u * kSplits) * 32u;
const kTokens = 64u;

// Of the tokens of an expert (0: all of them) those from `first` on; there are `end`.
struct RowTile { expert: u32, first: u32, end: u32 }

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> w: array<vec4u>;
@group(0) @binding(2) var<storage, read> dy: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dx: array<vec4f>;
var<workgroup> tile_w: array<vec4f, 512>;  // [32 rows, 16 · four columns]
var<workgroup> tile_y: array<vec4f, 512>;  // [32 rows, 16 · four tokens]; a group's place is group ^ (row / 4 % 8 · 2)

// Four rows of one token, 0 beyond the last row.
fn dy_at(token: u32, row: u32) -> vec4f {
    let v = dy[(token * kYStride + kYOffset + row) / 4u];
    return select(vec4f(), v, vec4u(row, row + 1u, row + 2u, row + 3u) < vec4u(kRows));
}

fn put(split: u32, token: u32, column: u32, v: vec4f) {
    let at = split * kSplitVecs + (token * kCols + column) / 4u;
    if (kAdd == 1u) {
        dx[at] += v;
    } else {
        dx[at] = v;
    }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let tile = row_tile(group.y);
    let expert = tile.expert;
    let token0 = tile.first;
    let tokens = tile.end;
    if (token0 >= tokens) { return; }
    let column0 = group.x * 64u;
    // Half of the workgroup fills each tile. W: a run of 16 columns of one row. dy: four rows of four tokens, turned.
    let half = t % 128u;
    let run = min(column0 / 16u + half % 4u, kCols / 16u - 1u);
    let w_row = half / 4u;
    let quad = half / 8u;
    let rows = half % 8u;
    let last = tokens - 1u;
    let t0 = token_at(expert, min(token0 + 4u * quad, last));
    let t1 = token_at(expert, min(token0 + 4u * quad + 1u, last));
    let t2 = token_at(expert, min(token0 + 4u * quad + 2u, last));
    let t3 = token_at(expert, min(token0 + 4u * quad + 3u, last));
    let place = rows * 64u + (quad ^ (2u * rows));
    let tx = t % 16u;
    let ty = t / 16u;
    var s0 = vec4f();  // four columns of one token each
    var s1 = vec4f();
    var s2 = vec4f();
    var s3 = vec4f();
    let end = min((group.z + 1u) * kSplitRows, kRows);
    for (var row0 = group.z * kSplitRows; row0 < end; row0 += 32u) {
        if (t < 128u) {
            let v = vec16_values_1(expert * kRows + min(row0 + w_row, kRows - 1u), run);
            let at = w_row * 16u + 4u * (half % 4u);
            tile_w[at] = v.v0;
            tile_w[at + 1u] = v.v1;
            tile_w[at + 2u] = v.v2;
            tile_w[at + 3u] = v.v3;
        } else {
            let row = row0 + 4u * rows;
            var a = vec4f();
            var b = vec4f();
            var c = vec4f();
            var d = vec4f();
            if (row < kRows) {
                a = dy_at(t0, row);
                b = dy_at(t1, row);
                c = dy_at(t2, row);
                d = dy_at(t3, row);
            }
            tile_y[place] = vec4f(a.x, b.x, c.x, d.x);
            tile_y[place + 16u] = vec4f(a.y, b.y, c.y, d.y);
            tile_y[place + 32u] = vec4f(a.z, b.z, c.z, d.z);
            tile_y[place + 48u] = vec4f(a.w, b.w, c.w, d.w);
        }
        workgroupBarrier();
        for (var r = 0u; r < 32u; r++) {
            let a = tile_w[r * 16u + tx];
            let v = tile_y[r * 16u + (ty ^ (2u * (r / 4u)))];
            s0 += a * v.x;
            s1 += a * v.y;
            s2 += a * v.z;
            s3 += a * v.w;
        }
        workgroupBarrier();
    }
    let column = column0 + 4u * tx;
    if (column >= kCols) { return; }
    let first = token0 + 4u * ty;
    if (first < tokens) { put(group.z, token_at(expert, first), column, s0); }
    if (first + 1u < tokens) { put(group.z, token_at(expert, first + 1u), column, s1); }
    if (first + 2u < tokens) { put(group.z, token_at(expert, first + 2u), column, s2); }
    if (first + 3u < tokens) { put(group.z, token_at(expert, first + 3u), column, s3); }
}
