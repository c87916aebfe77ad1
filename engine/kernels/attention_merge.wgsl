// attention_merge — puts together what the parts of a split attention found, one workgroup a head and token.
override kHeads: u32;
override kDim: u32;
override kSplits: u32;
const kThreads = 128u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> parts: array<f32>;  // [tokens, heads, splits, kDim + 2]
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let token = group.y;
    if (token >= step.tokens) { return; }
    let row = token * kHeads + group.x;
    let base = row * kSplits * (kDim + 2u);
    var largest = -3.0e38;
    for (var s = 0u; s < kSplits; s++) { largest = max(largest, parts[base + s * (kDim + 2u) + kDim]); }
    var sum = 0.0;
    for (var s = 0u; s < kSplits; s++) {
        let at = base + s * (kDim + 2u) + kDim;
        sum += parts[at + 1u] * exp(parts[at] - largest);
    }
    for (var i = t; i < kDim; i += kThreads) {
        var a = 0.0;
        for (var s = 0u; s < kSplits; s++) {
            let at = base + s * (kDim + 2u);
            a += parts[at + i] * exp(parts[at + kDim] - largest);
        }
        y[row * kDim + i] = a / sum;
    }
}
