// to_planes — x as planes (planes.wgsl), where it is too long for matvec's workgroups to prepare it by themselves
// One thread a run of 16. x: [kCols]. grid: (units / 16).
override kCols: u32;
override kUnits: u32 = (kCols + 63u) / 64u;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4u>;
var<workgroup> sums: array<f32, kThreads>;
var<workgroup> halves: array<f32, kThreads>;

fn at(i: u32) -> vec4f { return select(vec4f(), x[i], i < kCols / 4u); }

@compute @workgroup_size(kThreads)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) t: u32) {
    let r = id.x;
    let v0 = at(4u * r);
    let v1 = at(4u * r + 1u);
    let v2 = at(4u * r + 2u);
    let v3 = at(4u * r + 3u);
    let largest = max_of_pair(max(max(largest_of(v0), largest_of(v1)), max(largest_of(v2), largest_of(v3))), t);
    sums[t] = dot(v0 + v1 + v2 + v3, vec4f(1.0));
    halves[t] = largest / kLargest;
    workgroupBarrier();
    if (r >= 4u * kUnits) { return; }
    let inverse = inverse_of(largest);
    let z0 = whole(v0, inverse);
    let z1 = whole(v1, inverse);
    let z2 = whole(v2, inverse);
    let z3 = whole(v3, inverse);
    let u = r / 4u;
    for (var p = 0u; p < 3u; p++) {
        y[(p * 4u + r % 4u) * kUnits + u] =
            vec4u(plane_word(z0, p), plane_word(z1, p), plane_word(z2, p), plane_word(z3, p));
    }
    if (r % 4u != 0u) { return; }
    y[12u * kUnits + 2u * u] = bitcast<vec4u>(vec4f(halves[t], halves[t + 2u], 0.0, 0.0));
    y[12u * kUnits + 2u * u + 1u] = bitcast<vec4u>(vec4f(sums[t], sums[t + 1u], sums[t + 2u], sums[t + 3u]));
}
