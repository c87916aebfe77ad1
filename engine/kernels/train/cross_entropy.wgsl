// cross_entropy — what a tile of the vocabulary adds to the cross entropy of each row, one workgroup a row: the largest
// logit so far, the sum of exp(logit − largest) so far, and the logit of the row's target once its tile has come.
// The tiles come in order, the first one begins anew. The loss of a row is log(sum) + largest − target.
// tile: its first token, how many it has. logits: [tokens, kStride]. targets: token and weight. sums: [tokens]. grid: (tokens).
//# import lib/common, $reduce
override kStride: u32;
const kThreads = 256u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> tile: vec4u;
@group(0) @binding(2) var<storage, read> targets: array<vec2u>;
@group(0) @binding(3) var<storage, read> logits: array<f32>;
@group(0) @binding(4) var<storage, read_write> sums: array<vec4f>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let row = group.x;
    if (row >= step.tokens) { return; }
    let base = row * kStride;
    var before = vec4f(-3.0e38, 0.0, 0.0, 0.0);
    if (tile.x > 0u) { before = sums[row]; }
    var largest = before.x;
    for (var i = t; i < tile.y; i += kThreads) { largest = max(largest, logits[base + i]); }
    largest = max_workgroup(largest, t, kThreads);
    var sum = 0.0;
    for (var i = t; i < tile.y; i += kThreads) { sum += exp(logits[base + i] - largest); }
    let total = sum_workgroup(sum, t, kThreads) + before.y * exp(before.x - largest);
    if (t > 0u) { return; }
    var wanted = before.z;
    let goal = targets[row].x;
    if (goal >= tile.x && goal - tile.x < tile.y) { wanted = logits[base + goal - tile.x]; }
    sums[row] = vec4f(largest, total, wanted, 0.0);
}
