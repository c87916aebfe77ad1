// expert_lists — which slots each expert has, so that those of one can be multiplied together.
// ids: [tokens, kTopK], the expert of each slot; slot = token · kTopK + k. lists: the experts' counts, then kMaxRows places
// for the slots of each. One thread an expert, in order: the result does not depend on who comes first. grid: (kExperts / 64).
//# import lib/common
override kExperts: u32;
override kTopK: u32;
override kMaxRows: u32;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> expert_lists: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let expert = id.x;
    if (expert >= kExperts) { return; }
    var count = 0u;
    for (var slot = 0u; slot < step.tokens * kTopK; slot++) {
        if (ids[slot] == expert && count < kMaxRows) {
            expert_lists[kExperts + expert * kMaxRows + count] = slot;
            count++;
        }
    }
    expert_lists[expert] = count;
}
