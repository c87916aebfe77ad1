// square_sums — sums[i] = what workgroup i of 64 finds of Σ x². x: a multiple of 4 elements. grid: (64).
//# import lib/common, $reduce
const kThreads = 256u;
const kGroups = 64u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    var sum = 0.0;
    for (var i = group.x * kThreads + t; i < arrayLength(&x); i += kThreads * kGroups) { sum += dot(x[i], x[i]); }
    let total = sum_workgroup(sum, t, kThreads);
    if (t == 0u) { sums[group.x] = total; }
}
