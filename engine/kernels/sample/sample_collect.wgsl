// sample_collect — the logits that can be among the top_k: those in the bins down to the one that completes them.
// In no order: sample_pick sorts. Each workgroup looks at a slice. grid: (kSlices).
//# import lib/common, lib/sampling
override kVocabulary: u32;
override kSlices: u32;
const kThreads = 256u;
const kEach = kBins / kThreads;

@group(0) @binding(0) var<storage, read> sampling: Sampling;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> best: array<vec2f>;  // [kSlices] of argmax's first stage
@group(0) @binding(3) var<storage, read_write> bins: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> candidates: array<vec2u>;  // [kCandidates] of (f32, token)
var<workgroup> sums: array<u32, kThreads>;
var<workgroup> deepest: atomic<u32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    if (t == 0u) { atomicStore(&deepest, kBins - 1u); }
    var own = 0u;
    for (var i = 0u; i < kEach; i++) { own += atomicLoad(&bins[t * kEach + i]); }
    sums[t] = own;
    // Sums over all bins up to a thread's last one.
    for (var reach = 1u; reach < kThreads; reach *= 2u) {
        workgroupBarrier();
        let before = select(0u, sums[max(t, reach) - reach], t >= reach);
        workgroupBarrier();
        sums[t] += before;
    }
    workgroupBarrier();
    var reached = sums[t] - own;
    if (reached < sampling.top_k) {
        for (var i = t * kEach; i < (t + 1u) * kEach; i++) {
            reached += atomicLoad(&bins[i]);
            if (reached >= sampling.top_k) {
                atomicMin(&deepest, i);
                break;
            }
        }
    }
    workgroupBarrier();
    let limit = atomicLoad(&deepest);
    var largest = best[0].x;
    for (var i = 1u; i < kSlices; i++) { largest = max(largest, best[i].x); }
    let share = (kVocabulary + kSlices - 1u) / kSlices;
    let last = min(kVocabulary, (group.x + 1u) * share);
    for (var i = group.x * share + t; i < last; i += kThreads) {
        let logit = logits[i];
        if (logit <= kImpossible || bin_of(largest, logit) > limit) { continue; }
        let at = atomicAdd(&bins[kBins], 1u);
        if (at < kCandidates) { candidates[at] = vec2u(bitcast<u32>(logit), i); }
    }
}
