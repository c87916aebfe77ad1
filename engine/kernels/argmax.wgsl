// argmax — the most likely token becomes the next one, without leaving the GPU
//
// Two dispatches: the first, of kParts workgroups (at least two), finds the best of each of so many slices; the second, of
// one, the best of those. It then writes the token where the next step reads it and into the history, and moves the step on
// by one. One pipeline does both: once a token its code has to come from memory (docs/performance.md).
// Ties go to the lower id.
override kN: u32;
override kParts: u32;
const kThreads = 256u;

@group(0) @binding(0) var<storage, read_write> step: Step;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> best: array<vec2u>;  // [kParts]: value bits, id
@group(0) @binding(3) var<storage, read_write> ids: array<u32>;
@group(0) @binding(4) var<storage, read_write> history: array<u32>;
var<workgroup> values: array<f32, kThreads>;
var<workgroup> tokens: array<u32, kThreads>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) t: u32) {
    let last_stage = groups.x == 1u;
    var value = -3.4e38;
    var token = 0xFFFFFFFFu;
    if (!last_stage) {
        let share = (kN + kParts - 1u) / kParts;
        let last = min(kN, (group.x + 1u) * share);
        for (var i = group.x * share + t; i < last; i += kThreads) {
            let v = logits[i];
            token = select(token, i, v > value);
            value = select(value, v, v > value);
        }
    } else {
        for (var i = t; i < kParts; i += kThreads) {
            let v = bitcast<f32>(best[i].x);
            if (v > value || (v == value && best[i].y < token)) {
                value = v;
                token = best[i].y;
            }
        }
    }
    values[t] = value;
    tokens[t] = token;
    for (var half = kThreads / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (t < half) {
            let v = values[t + half];
            if (v > values[t] || (v == values[t] && tokens[t + half] < tokens[t])) {
                values[t] = v;
                tokens[t] = tokens[t + half];
            }
        }
    }
    if (t != 0u) { return; }
    if (!last_stage) {
        best[group.x] = vec2u(bitcast<u32>(values[0]), tokens[0]);
    } else {
        ids[0] = tokens[0];
        history[step.position + 1u] = tokens[0];
        step.position += 1u;
    }
}
