// sample_adjust — biases and penalties on the logits, and a clean sheet for the counting that follows. One workgroup.
// history: the tokens by position, up to and including the one at step.position. biases: (token, f32) pairs. grid: (1).
//# import lib/common, lib/sampling
const kThreads = 256u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> sampling: Sampling;
@group(0) @binding(2) var<storage, read> history: array<u32>;
@group(0) @binding(3) var<storage, read> biases: array<vec2u>;
@group(0) @binding(4) var<storage, read_write> logits: array<f32>;
@group(0) @binding(5) var<storage, read_write> bins: array<u32>;  // [kBins], then how many candidates there are
var<workgroup> recent: array<u32, kThreads>;

@compute @workgroup_size(kThreads)
fn main(@builtin(local_invocation_index) t: u32) {
    for (var i = t; i <= kBins; i += kThreads) { bins[i] = 0u; }
    for (var i = t; i < sampling.biases; i += kThreads) {
        let token = biases[i].x;
        logits[token] = max(logits[token] + bitcast<f32>(biases[i].y), kImpossible);
    }
    let held = step.position + 1u;
    let seen = min(held, sampling.window);
    if (t < seen) { recent[t] = history[held - seen + t]; }
    storageBarrier();
    workgroupBarrier();
    if (t >= seen) { return; }
    // The first place of a token speaks for all of them.
    let token = recent[t];
    for (var i = 0u; i < t; i++) {
        if (recent[i] == token) { return; }
    }
    var count = 0.0;
    for (var i = t; i < seen; i++) { count += select(0.0, 1.0, recent[i] == token); }
    let logit = logits[token];
    let repeated = select(logit * sampling.repeat_penalty, logit / sampling.repeat_penalty, logit > 0.0);
    logits[token] = max(repeated - sampling.presence_penalty - sampling.frequency_penalty * count, kImpossible);
}
