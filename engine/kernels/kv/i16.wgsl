// Two whole numbers a word, each 32768 larger than it is, and one f32 scale for the row: the size of half floats and
// several times their precision, because a row's elements differ little in size.
const kPerWord = 2u;
const kHasScales = true;
const kRowScale = true;
const kVecsAScale = 64u;
override kScaleVecs: u32 = 1u;

// Numbers below 2¹⁶ as floats, as `small` in common.wgsl does it.
fn kv_values(word: u32) -> vec4f {
    return vec4f(bitcast<vec2f>(vec2u(word & 0xFFFFu, word >> 16u) | vec2u(0x4B000000u)) - 8421376.0, 0.0, 0.0);
}

fn kv_word(x: vec4f, scale: f32) -> u32 {
    let n = vec2u(vec2i(quantised(x, scale, 32767.0).xy) + 32768);
    return n.x | (n.y << 16u);
}

fn kv_scale(scales: vec4u, i: u32) -> f32 { return bitcast<f32>(scales.x); }

fn own_scale(first: u32, i: u32) -> f32 {
    return max_of(absmax[first]) / 32767.0;
}

fn own_scales(first: u32, i: u32) -> vec4u { return vec4u(bitcast<u32>(own_scale(first, 0u)), 0u, 0u, 0u); }
