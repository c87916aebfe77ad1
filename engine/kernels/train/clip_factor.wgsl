// clip_factor — what gradients are multiplied with before a step, from the sum of their squares: found[0] is their norm, found[1]
// the factor. The factor is −1 when the norm is no finite number: then nothing may change.
// sums: what square_sums.wgsl left of all of them. settings: as adamw.wgsl has them, the sixth is the largest norm. grid: (1).
//# import lib/common, $reduce
const kThreads = 256u;

@group(0) @binding(0) var<storage, read> settings: array<f32>;
@group(0) @binding(1) var<storage, read> sums: array<f32>;
@group(0) @binding(2) var<storage, read_write> found: vec4f;

@compute @workgroup_size(kThreads)
fn main(@builtin(local_invocation_index) t: u32) {
    var sum = 0.0;
    for (var i = t; i < arrayLength(&sums); i += kThreads) { sum += sums[i]; }
    let norm = sqrt(sum_workgroup(sum, t, kThreads));
    if (t > 0u) { return; }
    var factor = 1.0;
    let most = settings[5];
    if (most > 0.0) { factor = min(1.0, most / (norm + 1e-6)); }
    // By its bits: comparisons with what is not a number may be optimised away.
    if ((bitcast<u32>(norm) & 0x7F800000u) == 0x7F800000u) { factor = -1.0; }
    found = vec4f(norm, factor, 0.0, 0.0);
}
