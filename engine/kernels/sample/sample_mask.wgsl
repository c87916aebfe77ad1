// sample_mask — tokens that may not be chosen become impossible. A thread a token, after sample_adjust: a bias must not
// bring one back. mask: bit i of word i / 32 says that token i may be chosen. grid: (vocabulary / 256).
//# import lib/common, lib/sampling
override kVocabulary: u32;
const kThreads = 256u;

@group(0) @binding(0) var<storage, read> mask: array<u32>;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x >= kVocabulary) { return; }
    if (((mask[id.x / 32u] >> (id.x % 32u)) & 1u) == 0u) { logits[id.x] = kImpossible; }
}
