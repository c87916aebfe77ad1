// merge_splits — merges what the splits of flash_decode found, where gemv has no room to do it by itself
// One thread eight elements. x and stats: splits.wgsl. y: [kCols] f32; kLimbs 1: limbs (limbs.wgsl). grid: (kCols / 512).
//# import lib/common, $reduce, lib/limbs, lib/limbs_store, lib/splits
override kCols: u32;                // heads · kHeadDim
override kHeadDim: u32;
override kWindow: u32 = 0u;
override kMaxSplits: u32;
override kLimbs: u32 = 0u;
override kQuantGroups: u32 = (kCols + 63u) / 64u;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> x: array<vec4u>;
@group(0) @binding(2) var<storage, read> stats: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4u>;

fn put_word(i: u32, word: u32) { y[i / 4u][i % 4u] = word; }

@compute @workgroup_size(kThreads)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) t: u32) {
    let e = id.x;
    let live = 8u * e < kCols;
    var v = Vec8();
    if (live) { v = merged(e, attention_splits(step.position + 1u, kWindow, kMaxSplits)); }
    if (kLimbs == 1u) {
        store_limbs_of_vec8(e, t, v, kQuantGroups);
    } else if (live) {
        y[2u * e] = bitcast<vec4u>(v.v0);
        y[2u * e + 1u] = bitcast<vec4u>(v.v1);
    }
}
