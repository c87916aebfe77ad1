// matmul — the same as matvec for many tokens at once: y[t, r] = finish(Σ_i W[r, i] · x[t, i])
//
// A workgroup computes a tile of 64 rows × 64 tokens; each of its 256 threads 4 × 4 of them. A step takes one chunk of
// 32 weights of each row: decoded once into workgroup memory, used by 64 tokens.
// grid: (outputs / kOutputs, tokens / 64). finish as in matvec: with 1, half of the tile's rows are gate's and half up's.
override kCols: u32;
override kChunks: u32 = kCols / 32u;
override kOut: u32;
override kYStride: u32 = kOut;
override kYOffset: u32 = 0u;
override kFinish: u32 = 0u;
override kAuxStride: u32 = 0u;
override kAuxOffset: u32 = 0u;
override kCap: f32 = 30.0;
override kOutputs: u32 = select(64u, 32u, kFinish == 1u);  // a tile's

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> w: array<vec4u>;
@group(0) @binding(2) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<storage, read> aux: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
// [k, row] and [k, token]. Scalars: writing one component of a shared vec4 may touch the others.
var<workgroup> tile_w: array<f32, 32 * 64>;
var<workgroup> tile_x: array<f32, 32 * 64>;

// Row r (0 … 63) of the tile that begins with output `first`. Threads own four neighbours: two outputs of gate and the
// same two of up, or four outputs.
fn w_row(first: u32, r: u32) -> u32 {
    if (kFinish == 1u) { return min(first + (r / 4u) * 2u + r % 2u, kOut - 1u) + ((r % 4u) / 2u) * kOut; }
    return min(first + r, kOut - 1u);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let first = group.x * kOutputs;
    let token0 = group.y * 64u;
    if (token0 >= step.tokens) { return; }
    // Quarters of the workgroup fill the tiles: two threads a row of W, two a token; each brings half a chunk.
    let lane = t % 64u;
    let part = (t / 64u) % 2u;
    let row = w_row(first, lane);
    let x_base = min(token0 + lane, step.tokens - 1u) * (kCols / 4u);
    let tx = (t % 16u) * 4u;
    let ty = (t / 16u) * 4u;
    var sum: array<vec4f, 4>;  // [token][row]
    for (var c = 0u; c < kChunks; c++) {
        if (t < 128u) {
            var values = chunk_values(row, c);
            for (var i = 0u; i < 4u; i++) {
                let v = values[part * 4u + i];
                let k = (part * 16u + i * 4u) * 64u + lane;
                tile_w[k] = v.x;
                tile_w[k + 64u] = v.y;
                tile_w[k + 128u] = v.z;
                tile_w[k + 192u] = v.w;
            }
        } else {
            let at = chunk_runs(c)[part] / 4u + x_base;
            for (var i = 0u; i < 4u; i++) {
                let v = x[at + i];
                let k = (part * 16u + i * 4u) * 64u + lane;
                tile_x[k] = v.x;
                tile_x[k + 64u] = v.y;
                tile_x[k + 128u] = v.z;
                tile_x[k + 192u] = v.w;
            }
        }
        workgroupBarrier();
        for (var k = 0u; k < 32u * 64u; k += 64u) {
            let i = k + tx;
            let j = k + ty;
            let a = vec4f(tile_w[i], tile_w[i + 1u], tile_w[i + 2u], tile_w[i + 3u]);
            sum[0] += a * tile_x[j];
            sum[1] += a * tile_x[j + 1u];
            sum[2] += a * tile_x[j + 2u];
            sum[3] += a * tile_x[j + 3u];
        }
        workgroupBarrier();
    }
    let width = kOutputs / 16u;  // outputs a thread owns
    for (var j = 0u; j < 4u; j++) {
        let token = token0 + ty + j;
        if (token >= step.tokens) { return; }
        for (var i = 0u; i < width; i++) {
            let out = first + (t % 16u) * width + i;
            if (out >= kOut) { break; }
            var v = sum[j][i];
            if (kFinish == 1u) { v = gelu(v) * sum[j][i + 2u]; }
            if (kFinish == 2u) { v = gelu(v) * bitcast<f32>(aux[token * kAuxStride + kAuxOffset + out]); }
            if (kFinish == 3u) { v = softcap(v, kCap); }
            y[token * kYStride + kYOffset + out] = v;
        }
    }
}
