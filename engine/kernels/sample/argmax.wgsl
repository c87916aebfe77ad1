// argmax — the most likely token becomes the next one, without leaving the GPU
//
// Two dispatches: the first, of kSlices workgroups (at least two), finds the best of each of so many shares; the second, of
// one, the best of those. It then writes the token where the next step reads it and into the history, and moves the step on
// by one. One pipeline does both: once a token its code has to come from memory (docs/performance.md).
// Ties go to the lower id. grid: (kSlices), then (1).
//# import lib/common, $reduce
override kVocabulary: u32;
override kSlices: u32;
const kThreads = 256u;
override kPerThread: u32 = (kVocabulary + kSlices * kThreads - 1u) / (kSlices * kThreads);  // logits a thread looks at

@group(0) @binding(0) var<storage, read_write> step: Step;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> best: array<vec2f>;  // [kSlices]: the best of each share
@group(0) @binding(3) var<storage, read_write> ids: array<u32>;
@group(0) @binding(4) var<storage, read_write> history: array<u32>;

// (logit, −id) of a token: the larger logit is better, and of equal ones the larger −id. Ids are exact up to 2²⁴.
const kNothing = vec2f(-3.4e38, -3.4e38);

fn better(a: vec2f, b: vec2f) -> vec2f { return select(a, b, b.x > a.x || (b.x == a.x && b.y > a.y)); }

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) t: u32) {
    let last_stage = groups.x == 1u;
    var mine = kNothing;
    if (!last_stage) {
        // As many for every thread, so that all of them are on their way at a time.
        for (var n = 0u; n < kPerThread; n++) {
            let i = min((n * kSlices + group.x) * kThreads + t, kVocabulary - 1u);
            mine = better(mine, vec2f(logits[i], -f32(i)));
        }
    } else {
        for (var i = t; i < kSlices; i += kThreads) { mine = better(mine, best[i]); }
    }
    let largest = max_workgroup(mine.x, t, kThreads);
    let first = max_workgroup(select(kNothing.y, mine.y, mine.x == largest), t, kThreads);
    if (t != 0u) { return; }
    if (!last_stage) {
        best[group.x] = vec2f(largest, first);
    } else {
        let token = u32(-first);
        ids[0] = token;
        history[step.position + 1u] = token;
        step.position += 1u;
    }
}
