// sample_pick — draws the next token from the candidates and makes it the input of the next step. One workgroup.
// Order of the filters: top-k, top-p, min-p, temperature, as in sample/sampler.h. Ties go to the lower id.
// When there are more candidates than fit (many equal logits), the token is 0xFFFFFFFF: the host has to choose. grid: (1).
//# import lib/common, lib/sampling
const kThreads = 256u;

@group(0) @binding(0) var<storage, read_write> step: Step;
@group(0) @binding(1) var<storage, read> sampling: Sampling;
@group(0) @binding(2) var<storage, read> bins: array<u32>;
@group(0) @binding(3) var<storage, read> candidates: array<vec2u>;
@group(0) @binding(4) var<storage, read_write> ids: array<u32>;
@group(0) @binding(5) var<storage, read_write> history: array<u32>;
var<workgroup> values: array<f32, kCandidates>;
var<workgroup> tokens: array<u32, kCandidates>;

fn comes_first(value: f32, token: u32, other_value: f32, other_token: u32) -> bool {
    return value > other_value || (value == other_value && token < other_token);
}

// sample/random.h, word for word.
fn uniform_at(position: u32) -> f32 {
    var v = vec3u(sampling.seed_low, sampling.seed_high, position) * 1664525u + 1013904223u;
    for (var round = 0u; round < 2u; round++) {
        v.x += v.y * v.z;
        v.y += v.z * v.x;
        v.z += v.x * v.y;
        v ^= v >> vec3u(16u);
    }
    return f32(v.x >> 8u) * 5.9604644775390625e-8;
}

// How many of the first `count` survive top-p and min-p.
fn survivors(count: u32) -> u32 {
    var sum = 0.0;
    for (var i = count; i > 0u; i--) { sum += exp(values[i - 1u] - values[0]); }
    var keep = count;
    if (sampling.top_p < 1.0) {
        var reached = 0.0;
        for (var i = 0u; i < keep; i++) {
            reached += exp(values[i] - values[0]);
            if (reached >= sampling.top_p * sum) { keep = i + 1u; }
        }
    }
    while (keep > 1u && exp(values[keep - 1u] - values[0]) < sampling.min_p) { keep--; }
    return keep;
}

fn drawn(count: u32) -> u32 {
    if (sampling.temperature == 0.0) { return tokens[0]; }
    let keep = survivors(count);
    var sum = 0.0;
    for (var i = keep; i > 0u; i--) { sum += exp((values[i - 1u] - values[0]) / sampling.temperature); }
    let target_sum = uniform_at(step.position + 1u) * sum;
    var reached = 0.0;
    for (var i = 0u; i < keep; i++) {
        reached += exp((values[i] - values[0]) / sampling.temperature);
        if (target_sum < reached) { return tokens[i]; }
    }
    return tokens[keep - 1u];
}

@compute @workgroup_size(kThreads)
fn main(@builtin(local_invocation_index) t: u32) {
    let found = bins[kBins];
    for (var i = t; i < kCandidates; i += kThreads) {
        let live = i < found;
        values[i] = select(-3.4e38, bitcast<f32>(candidates[i].x), live);
        tokens[i] = select(0xFFFFFFFFu, candidates[i].y, live);
    }
    // Bitonic: the first come first.
    for (var size = 2u; size <= kCandidates; size *= 2u) {
        for (var reach = size / 2u; reach > 0u; reach /= 2u) {
            workgroupBarrier();
            for (var pair = t; pair < kCandidates / 2u; pair += kThreads) {
                let a = 2u * pair - pair % reach;
                let b = a + reach;
                let ascending = (a & size) == 0u;
                if (comes_first(values[b], tokens[b], values[a], tokens[a]) == ascending) {
                    let value = values[a];
                    values[a] = values[b];
                    values[b] = value;
                    let token = tokens[a];
                    tokens[a] = tokens[b];
                    tokens[b] = token;
                }
            }
        }
    }
    workgroupBarrier();
    if (t != 0u) { return; }
    var token = 0xFFFFFFFFu;
    if (found > 0u && found <= kCandidates) { token = drawn(min(max(sampling.top_k, 1u), found)); }
    ids[0] = token;
    history[step.position + 1u] = token;
    step.position += 1u;
}
