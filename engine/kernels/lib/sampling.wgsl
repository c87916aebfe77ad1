// What the kernels that choose a token share. The rules are those of sample/sampler.h.
struct Sampling {
    temperature: f32,  // 0: the most likely
    top_p: f32,
    min_p: f32,
    repeat_penalty: f32,
    presence_penalty: f32,
    frequency_penalty: f32,
    top_k: u32,
    window: u32,  // how many of the latest tokens the penalties see, 256 at most
    seed_low: u32,
    seed_high: u32,
    biases: u32,  // entries of the list of biases
    unused: u32,
}

const kImpossible = -3.0e38;
const kBins = 2048u;
const kCandidates = 1024u;

// Bins of 1/32 below the largest logit; soft-capped ones lie within 60 of each other.
fn bin_of(largest: f32, logit: f32) -> u32 {
    return u32(min((largest - logit) * 32.0, f32(kBins - 1u)));
}
