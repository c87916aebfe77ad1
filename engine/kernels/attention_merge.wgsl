// attention_merge — puts together what the parts of attention_decode found, where matvec has no room to do it by itself.
// One workgroup a head. parts as attention_decode.wgsl leaves them. y: [heads · kDim].
override kDim: u32;
override kWindow: u32 = 0u;
override kMaxSplits: u32;
const kThreads = 128u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> parts: array<f32>;
@group(0) @binding(2) var<storage, read> stats: array<vec2f>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let splits = attention_splits(step.position + 1u, kWindow, kMaxSplits);
    let head = group.x;
    let first = head * kMaxSplits;
    var largest = -3.0e38;
    for (var s = 0u; s < splits; s++) { largest = max(largest, stats[first + s].x); }
    var sum = 0.0;
    for (var s = 0u; s < splits; s++) { sum += stats[first + s].y * exp(stats[first + s].x - largest); }
    for (var i = t; i < kDim; i += kThreads) {
        var a = 0.0;
        for (var s = 0u; s < splits; s++) {
            a += parts[(first + s) * kDim + i] * exp(stats[first + s].x - largest);
        }
        y[head * kDim + i] = a / sum;
    }
}
