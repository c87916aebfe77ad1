// What the kernels of a canvas share: what the host gives with each step, and what is known of a place.

struct Given {
    temperature: f32,
    previous_temperature: f32,  // of the step before
    entropy_bound: f32,
    confidence_threshold: f32,
    stability_threshold: u32,
    first: u32,  // 1: no step came before
    unused: vec2u,
    numbers: array<u32>,  // of each place a number in [0, 1) that draws its token, then of each what it is if that is not accepted
}

// Of its tokens: the most likely one (of equals the first), and the one drawn.
struct Tokens { best: u32, drawn: u32 }

struct Place {
    largest: f32,  // logit
    total: f32,    // Σ exp((logit − largest) / temperature)
    entropy: f32,  // in nats
    // How far the tokens are from being others:
    best_margin: f32,
    drawn_margin: f32,
}
