// softmax — scores of a block of queries become probabilities, in place. A query sees the keys of its own example up to
// itself, with kWindow > 0 the last kWindow of them; the others' probabilities are 0.
// scores: [heads, kBlock, kRow], row i is query block.first + i. position_ids: of each token its position in its example, and
// where that begins. grid: (kBlock, heads).
//# import lib/common, $reduce
override kBlock: u32;
override kRow: u32;
override kWindow: u32 = 0u;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> first: u32;
@group(0) @binding(2) var<storage, read> position_ids: array<vec2u>;
@group(0) @binding(3) var<storage, read_write> scores: array<f32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let query = first + group.x;
    if (query >= step.tokens) { return; }
    let row = (group.y * kBlock + group.x) * kRow;
    let end = query + 1u;
    var begin = position_ids[query].y;
    if (kWindow > 0u && end > kWindow) { begin = max(begin, end - kWindow); }
    var largest = -3.0e38;
    for (var i = begin + t; i < end; i += kThreads) { largest = max(largest, scores[row + i]); }
    largest = max_workgroup(largest, t, kThreads);
    var sum = 0.0;
    for (var i = begin + t; i < end; i += kThreads) { sum += exp(scores[row + i] - largest); }
    let total = sum_workgroup(sum, t, kThreads);
    for (var i = t; i < step.tokens; i += kThreads) {
        let seen = i >= begin && i < end;
        scores[row + i] = select(0.0, exp(min(scores[row + i] - largest, 0.0)) / total, seen);
    }
}
