// expert_lists — which slots each expert has, so that those of one can be multiplied together.
// ids: [tokens, kUsed], the expert of each slot; slot = token · kUsed + k. lists: the experts' counts, then kMost places
// for the slots of each. One thread an expert, in order: the result does not depend on who comes first.
//# import common
override kExperts: u32;
override kUsed: u32;
override kMost: u32;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> lists: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let expert = id.x;
    if (expert >= kExperts) { return; }
    var count = 0u;
    for (var slot = 0u; slot < step.tokens * kUsed; slot++) {
        if (ids[slot] == expert && count < kMost) {
            lists[kExperts + expert * kMost + count] = slot;
            count++;
        }
    }
    lists[expert] = count;
}
