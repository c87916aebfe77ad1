// What every kernel may use: where we are in the text, and functions whose accuracy does not depend on the driver
// (WGSL allows sin, cos and tanh to be wrong in the fourth digit; exp and division it does not).

struct Step {
    position: u32,  // of the first token of this block
    tokens: u32,    // how many tokens there are; grids may be larger
}

// The tanh form of GELU, as x · sigmoid(2u).
fn gelu(x: f32) -> f32 {
    let u = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    return x / (1.0 + exp(clamp(-2.0 * u, -80.0, 80.0)));
}

// cap · tanh(x / cap)
fn softcap(x: f32, cap: f32) -> f32 {
    return cap - 2.0 * cap / (exp(clamp(2.0 * x / cap, -80.0, 80.0)) + 1.0);
}

// (cos, sin) of an angle given in turns.
fn cos_sin(revolutions: f32) -> vec2f {
    let r = revolutions - round(revolutions);
    let quadrant = round(4.0 * r);
    let x = 6.283185307179586 * (r - 0.25 * quadrant);  // |x| ≤ π/4
    let x2 = x * x;
    let s = x * (1.0 + x2 * (-0.16666667 + x2 * (8.3333310e-3 + x2 * (-1.9841270e-4 + x2 * 2.7525562e-6))));
    let c = 1.0 + x2 * (-0.5 + x2 * (0.041666668 + x2 * (-1.3888889e-3 + x2 * 2.4801587e-5)));
    let q = i32(quadrant) & 3;
    let swapped = select(vec2f(c, s), vec2f(s, c), (q & 1) == 1);
    return select(swapped, -swapped, vec2<bool>(q == 1 || q == 2, q >= 2));
}

// Two f16 in a word, rounded to nearest even. pack2x16float may round either way.
fn pack_halves(v: vec2f) -> u32 {
    let bits = bitcast<vec2u>(v);
    let size = bits & vec2u(0x7FFFFFFFu);
    // Normal numbers: rebias and round. Below 2⁻¹⁴ adding 0.5 makes the adder round. From 65520 on: infinity.
    let normal = (size - vec2u(0x38000000u) + vec2u(0xFFFu) + ((size >> vec2u(13u)) & vec2u(1u))) >> vec2u(13u);
    let tiny = bitcast<vec2u>(bitcast<vec2f>(size) + vec2f(0.5)) - vec2u(0x3F000000u);
    var half = select(normal, tiny, size < vec2u(0x38800000u));
    half = select(half, vec2u(0x7C00u), size >= vec2u(0x477FF000u));
    half |= (bits >> vec2u(16u)) & vec2u(0x8000u);
    return half.x | (half.y << 16u);
}

// 16 neighbouring weights. Fields, not an array: an array indexed in a loop may end up in memory, and this must stay in
// registers.
struct Vec16 { v0: vec4f, v1: vec4f, v2: vec4f, v3: vec4f }

fn scaled(a: Vec16, s: f32) -> Vec16 { return Vec16(a.v0 * s, a.v1 * s, a.v2 * s, a.v3 * s); }

fn plus(a: Vec16, b: Vec16) -> Vec16 { return Vec16(a.v0 + b.v0, a.v1 + b.v1, a.v2 + b.v2, a.v3 + b.v3); }

fn dot_vec16(a: Vec16, b: Vec16) -> f32 { return dot(a.v0, b.v0) + dot(a.v1, b.v1) + dot(a.v2, b.v2) + dot(a.v3, b.v3); }

// Eight neighbouring activations: what a thread norms, merges and prepares for products at a time. With more of them it
// would be one long chain of instructions in a few threads while the others wait.
struct Vec8 { v0: vec4f, v1: vec4f }

fn scaled_vec8(a: Vec8, s: f32) -> Vec8 { return Vec8(a.v0 * s, a.v1 * s); }

fn times_vec8(a: Vec8, b: Vec8) -> Vec8 { return Vec8(a.v0 * b.v0, a.v1 * b.v1); }

fn plus_vec8(a: Vec8, b: Vec8) -> Vec8 { return Vec8(a.v0 + b.v0, a.v1 + b.v1); }

fn select_vec8(a: Vec8, b: Vec8, second: bool) -> Vec8 {
    return Vec8(select(a.v0, b.v0, second), select(a.v1, b.v1, second));
}

fn dot_vec8(a: Vec8, b: Vec8) -> f32 { return dot(a.v0, b.v0) + dot(a.v1, b.v1); }

// The four bytes of a word.
fn bytes_of(word: u32) -> vec4u {
    return vec4u(word, word >> 8u, word >> 16u, word >> 24u) & vec4u(255u);
}

// Whole numbers below 2²³ as floats, by writing them into the last bits of 2²³: a conversion instruction has an eighth of
// the speed of these on an H200.
fn small_to_f32(v: vec4u) -> vec4f {
    return bitcast<vec4f>(v | vec4u(0x4B000000u)) - 8388608.0;
}

fn signed_bytes(word: u32) -> vec4f {
    return bitcast<vec4f>(bytes_of(word ^ 0x80808080u) | vec4u(0x4B000000u)) - 8388736.0;
}

// How many keys a split of one token's attention has where there is room for all splits: so few that enough workgroups have
// something to do. Longer heads leave more to merge, and layers without a window have the longer heads.
fn keys_of_a_split(window: u32) -> u32 { return select(32u, 64u, window == 0u); }

// Into how many splits the attention to `keys` keys is split.
fn attention_splits(keys: u32, window: u32, most: u32) -> u32 {
    let reached = select(min(keys, window), keys, window == 0u);
    return clamp((reached + keys_of_a_split(window) - 1u) / keys_of_a_split(window), 1u, most);
}
