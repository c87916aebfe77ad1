// to_planes — x as planes (planes.wgsl), where it is too long for matvec's workgroups to prepare it by themselves
// One thread eight elements. x: [kCols]. grid: (units / 8).
//# import common, $reduce, planes, plane_rows
override kCols: u32;
override kUnits: u32 = (kCols + 63u) / 64u;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn put_word(i: u32, word: u32) { y[i] = word; }

fn at(i: u32) -> vec4f { return select(vec4f(), x[i], i < kCols / 4u); }

@compute @workgroup_size(kThreads)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) t: u32) {
    leave_eight(id.x, t, Eight(at(2u * id.x), at(2u * id.x + 1u)), kUnits);
}
