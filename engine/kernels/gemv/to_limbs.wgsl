// to_limbs — x as limbs (limbs.wgsl), where it is too long for gemv's workgroups to prepare it by themselves
// One thread eight elements. x: [kCols]. grid: (quant groups / 8).
//# import lib/common, $reduce, lib/limbs, lib/limbs_store
override kCols: u32;
override kQuantGroups: u32 = (kCols + 63u) / 64u;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn put_word(i: u32, word: u32) { y[i] = word; }

fn at(i: u32) -> vec4f { return select(vec4f(), x[i], i < kCols / 4u); }

@compute @workgroup_size(kThreads)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) t: u32) {
    store_limbs_of_vec8(id.x, t, Vec8(at(2u * id.x), at(2u * id.x + 1u)), kQuantGroups);
}
