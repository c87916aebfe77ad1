// sample_count — how many logits lie how far below the largest one. Each workgroup counts a slice.
// grid: (kSlices).
//# import lib/common, lib/sampling
override kVocabulary: u32;
override kSlices: u32;
const kThreads = 256u;

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> best: array<vec2f>;  // [kSlices] of argmax's first stage
@group(0) @binding(2) var<storage, read_write> bins: array<atomic<u32>>;
var<workgroup> counts: array<atomic<u32>, kBins>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    for (var i = t; i < kBins; i += kThreads) { atomicStore(&counts[i], 0u); }
    var largest = best[0].x;
    for (var i = 1u; i < kSlices; i++) { largest = max(largest, best[i].x); }
    workgroupBarrier();
    let share = (kVocabulary + kSlices - 1u) / kSlices;
    let last = min(kVocabulary, (group.x + 1u) * share);
    for (var i = group.x * share + t; i < last; i += kThreads) {
        if (logits[i] > kImpossible) { atomicAdd(&counts[bin_of(largest, logits[i])], 1u); }
    }
    workgroupBarrier();
    for (var i = t; i < kBins; i += kThreads) {
        let count = atomicLoad(&counts[i]);
        if (count > 0u) { atomicAdd(&bins[i], count); }
    }
}
