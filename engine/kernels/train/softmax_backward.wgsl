// softmax_backward — the gradient of softmax by the scores, in place: ds = p ⊙ (dp − Σ p ⊙ dp)
// p, dp: [heads, kBlock, kRow] as in softmax.wgsl. What is not seen has p = 0. grid: (kBlock, heads).
//# import lib/common, $reduce
override kBlock: u32;
override kRow: u32;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> first: u32;
@group(0) @binding(2) var<storage, read> p: array<f32>;
@group(0) @binding(3) var<storage, read_write> dp: array<f32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    if (first + group.x >= step.tokens) { return; }
    let row = (group.y * kBlock + group.x) * kRow;
    var sum = 0.0;
    for (var i = t; i < step.tokens; i += kThreads) { sum += p[row + i] * dp[row + i]; }
    let total = sum_workgroup(sum, t, kThreads);
    for (var i = t; i < step.tokens; i += kThreads) { dp[row + i] = p[row + i] * (dp[row + i] - total); }
}
