// moe_router — everything between the residual stream and a layer's experts, one workgroup a token:
//   r = rms(h) ⊙ router_scale / √n;  logits = W · r;  the kTopK largest of softmax(logits), renormalised, times each one's scale
//   z = rms(h) ⊙ next, which the experts read
// h, z: [tokens, n], n a multiple of 4. w: [kExperts, n] f32, 256 experts at most. vectors: router_scale / √n,
// then next, then the experts' scales. ids, shares: [tokens, kTopK], the largest first; of equals the lower id. grid: (tokens).
//# import lib/common, $reduce
override kCols: u32;
override kExperts: u32;
override kTopK: u32;
override kEps: f32 = 1e-6;
const kThreads = 256u;
const kWarps = 8u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> h: array<vec4f>;
@group(0) @binding(2) var<storage, read> w: array<vec4f>;
@group(0) @binding(3) var<storage, read> vectors: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> ids: array<u32>;
@group(0) @binding(5) var<storage, read_write> router_weights: array<f32>;
@group(0) @binding(6) var<storage, read_write> z: array<vec4f>;

override kVecs: u32 = kCols / 4u;
override kLogits: u32 = (kExperts + 31u) / 32u * 32u;
var<workgroup> logits: array<f32, kLogits>;
var<workgroup> shares: array<f32, kTopK>;
var<workgroup> chosen: array<u32, kTopK>;

fn weight_at(expert: u32, i: u32) -> vec4f { return w[min(expert, kExperts - 1u) * kVecs + i]; }

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let token = group.x;
    if (token >= step.tokens) { return; }
    let base = token * kVecs;
    var squares = 0.0;
    for (var i = t; i < kVecs; i += kThreads) { squares += dot(h[base + i], h[base + i]); }
    let inverse = inverseSqrt(sum_workgroup(squares, t, kThreads) / f32(kCols) + kEps);
    for (var i = t; i < kVecs; i += kThreads) { z[base + i] = h[base + i] * inverse * vectors[kVecs + i]; }
    // A warp takes four experts at a time.
    for (var round = 0u; round < kLogits; round += 4u * kWarps) {
        let first = round + t / 32u * 4u;
        var sums = vec4f();
        for (var i = t % 32u; i < kVecs; i += 32u) {
            let r = h[base + i] * vectors[i];
            sums += vec4f(dot(r, weight_at(first, i)), dot(r, weight_at(first + 1u, i)),
                          dot(r, weight_at(first + 2u, i)), dot(r, weight_at(first + 3u, i)));
        }
        sums = sum_warp(sums, t) * inverse;
        if (t % 32u < 4u) { logits[first + t % 32u] = sums[t % 32u]; }
    }
    workgroupBarrier();
    var mine = -3.0e38;
    if (t < kExperts) { mine = logits[t]; }
    let largest = max_workgroup(mine, t, kThreads);
    if (t < kExperts) {
        var place = 0u;
        for (var e = 0u; e < kExperts; e++) {
            let other = logits[e];
            if (other > mine || (other == mine && e < t)) { place++; }
        }
        if (place < kTopK) {
            chosen[place] = t;
            shares[place] = exp(mine - largest);
        }
    }
    workgroupBarrier();
    if (t >= kTopK) { return; }
    var sum = 0.0;
    for (var k = 0u; k < kTopK; k++) { sum += shares[k]; }
    let expert = chosen[t];
    let scale = 2u * kCols + expert;
    ids[token * kTopK + t] = expert;
    router_weights[token * kTopK + t] = shares[t] / sum * vectors[scale / 4u][scale % 4u];
}
