// attention_merge — puts together what the parts of attention_decode found, where matvec has no room to do it by itself
// One thread eight elements. x and delta: parts.wgsl. y: [kCols] f32; kPlanes 1: planes (planes.wgsl).
//# import common, $reduce, planes, plane_rows, parts
override kCols: u32;                // heads · kDim
override kDim: u32;
override kWindow: u32 = 0u;
override kMaxSplits: u32;
override kPlanes: u32 = 0u;
override kUnits: u32 = (kCols + 63u) / 64u;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> x: array<vec4u>;
@group(0) @binding(2) var<storage, read> delta: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4u>;

fn put_word(i: u32, word: u32) { y[i / 4u][i % 4u] = word; }

@compute @workgroup_size(kThreads)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) t: u32) {
    let e = id.x;
    let live = 8u * e < kCols;
    var v = Eight();
    if (live) { v = merged(e, attention_splits(step.position + 1u, kWindow, kMaxSplits)); }
    if (kPlanes == 1u) {
        leave_eight(e, t, v, kUnits);
    } else if (live) {
        y[2u * e] = bitcast<vec4u>(v.v0);
        y[2u * e + 1u] = bitcast<vec4u>(v.v1);
    }
}
