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
    let v = Run(at(4u * r), at(4u * r + 1u), at(4u * r + 2u), at(4u * r + 3u));
    let largest = max_of_pair(largest_of_run(v), t);
    sums[t] = sum_of_run(v);
    halves[t] = largest / kLargest;
    workgroupBarrier();
    if (r >= 4u * kUnits) { return; }
    let planes = planes_of_run(v, largest);
    let u = r / 4u;
    let place = (r % 4u) * kUnits + u;
    y[place] = planes.low;
    y[4u * kUnits + place] = planes.middle;
    y[8u * kUnits + place] = planes.high;
    if (r % 4u != 0u) { return; }
    y[12u * kUnits + 2u * u] = bitcast<vec4u>(vec4f(halves[t], halves[t + 2u], 0.0, 0.0));
    y[12u * kUnits + 2u * u + 1u] = bitcast<vec4u>(vec4f(sums[t], sums[t + 1u], sums[t + 2u], sums[t + 3u]));
}
