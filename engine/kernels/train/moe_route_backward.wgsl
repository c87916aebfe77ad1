// moe_route_backward — the gradient of the experts' weighted sum: by each expert's answer, in place of it, and by the router's
// logits. One workgroup a token.
//   y = Σ_k share_k · x_k, share_k = scale_k · w_k, w = softmax of the logits of those chosen
//   dx_k = share_k · dy;  dlogit_k = w_k · (dw_k − Σ_j w_j · dw_j), dw_k = scale_k · (dy · x_k); 0 for the others
// ids, shares: [tokens, kTopK] as moe_route.wgsl leaves them. dy: [tokens, n]. x: [tokens, kTopK, n]. logits: [tokens, kExperts],
// their gradient takes their place. kTopK: at most 16. grid: (tokens).
//# import lib/common, $reduce
override kCols: u32;
override kExperts: u32;
override kTopK: u32;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read> router_weights: array<f32>;
@group(0) @binding(3) var<storage, read> scales: array<f32>;
@group(0) @binding(4) var<storage, read> dy: array<f32>;
@group(0) @binding(5) var<storage, read_write> x: array<f32>;
@group(0) @binding(6) var<storage, read_write> logits: array<f32>;
var<workgroup> by_weight: array<f32, 16>;
var<workgroup> weights: array<f32, 16>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let token = group.x;
    if (token >= step.tokens) { return; }
    let slot0 = token * kTopK;
    let row = token * kExperts;
    if (t < kTopK) { weights[t] = exp(logits[row + ids[slot0 + t]] - logits[row + ids[slot0]]); }
    for (var k = 0u; k < kTopK; k++) {
        let at = (slot0 + k) * kCols;
        let share = router_weights[slot0 + k];
        var sum = 0.0;
        for (var i = t; i < kCols; i += kThreads) {
            let d = dy[token * kCols + i];
            sum += d * x[at + i];
            x[at + i] = share * d;
        }
        let total = sum_workgroup(sum, t, kThreads);
        if (t == 0u) { by_weight[k] = scales[ids[slot0 + k]] * total; }
    }
    workgroupBarrier();
    var sum = 0.0;
    var mean = 0.0;
    for (var k = 0u; k < kTopK; k++) {
        sum += weights[k];
        mean += weights[k] * by_weight[k];
    }
    mean /= sum;
    for (var e = t; e < kExperts; e += kThreads) {
        var d = 0.0;
        for (var k = 0u; k < kTopK; k++) {
            if (ids[slot0 + k] == e) { d = weights[k] / sum * (by_weight[k] - mean); }
        }
        logits[row + e] = d;
    }
}
