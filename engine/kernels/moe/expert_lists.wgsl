// expert_lists — which slots each expert has, so that those of one can be multiplied together.
// ids: [tokens, kTopK], the expert of each slot; slot = token · kTopK + k. lists: the experts' counts, then kMaxRows places
// for the slots of each, in their order. One workgroup an expert, a thread a slot, in rounds: each slot of the expert's sets
// a bit, and has as many places before it as there are bits. grid: (kExperts).
//# import lib/common
override kExperts: u32;
override kTopK: u32;
override kMaxRows: u32;
const kThreads = 256u;
const kWords = 8u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> expert_lists: array<u32>;
var<workgroup> own: array<atomic<u32>, kWords>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let expert = group.x;
    let slots = step.tokens * kTopK;
    var count = 0u;
    for (var first = 0u; first < slots; first += kThreads) {
        if (t < kWords) { atomicStore(&own[t], 0u); }
        workgroupBarrier();
        let slot = first + t;
        let is_own = slot < slots && ids[min(slot, slots - 1u)] == expert;
        if (is_own) { atomicOr(&own[t / 32u], 1u << (t % 32u)); }
        workgroupBarrier();
        var place = count;
        for (var i = 0u; i < kWords; i++) {
            let bits = atomicLoad(&own[i]);
            if (i < t / 32u) { place += countOneBits(bits); }
            if (i == t / 32u) { place += countOneBits(bits & ((1u << (t % 32u)) - 1u)); }
            count += countOneBits(bits);
        }
        if (is_own && place < kMaxRows) { expert_lists[kExperts + expert * kMaxRows + place] = slot; }
        workgroupBarrier();
    }
    if (t == 0u) { expert_lists[expert] = min(count, kMaxRows); }
}
