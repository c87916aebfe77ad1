// moe_route — which experts a token goes to: the kTopK largest of softmax(logits), renormalised, times each one's scale
// logits: [tokens, kExperts]. ids, shares: [tokens, kTopK]. One thread a token: 128 experts are not worth more. grid: (tokens / 64).
//# import lib/common
override kExperts: u32;
override kTopK: u32;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> scales: array<f32>;
@group(0) @binding(3) var<storage, read_write> ids: array<u32>;
@group(0) @binding(4) var<storage, read_write> router_weights: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let token = id.x;
    if (token >= step.tokens) { return; }
    let base = token * kExperts;
    let out = token * kTopK;
    var largest = logits[base];
    for (var e = 1u; e < kExperts; e++) { largest = max(largest, logits[base + e]); }
    // The k-th best is the largest that comes after the (k-1)-th: smaller, or equal with a higher number.
    var bound = 3.0e38;
    var bound_id = 0u;
    var sum = 0.0;
    for (var k = 0u; k < kTopK; k++) {
        var best = -3.0e38;
        var best_id = 0u;
        for (var e = 0u; e < kExperts; e++) {
            let v = logits[base + e];
            let after = v < bound || (v == bound && e > bound_id && k > 0u);
            if (after && v > best) {
                best = v;
                best_id = e;
            }
        }
        bound = best;
        bound_id = best_id;
        ids[out + k] = best_id;
        let share = exp(best - largest);
        router_weights[out + k] = share;
        sum += share;
    }
    for (var k = 0u; k < kTopK; k++) { router_weights[out + k] = router_weights[out + k] / sum * scales[ids[out + k]]; }
}
