// Numbers as whole ones, so that products with quantised weights can be summed exactly, four bytes an instruction: of each
// 32 neighbours, x = scale · X with |X| ≤ 63 · 2¹⁶, X in three signed bytes. What is lost is what f32 loses.
//
// A quant group of 64 takes 14 vec4. Of n quant groups: [limb · 4 + run][quant group] vec4 of bytes (limb 0: the lowest ones), then for
// each quant group (scale of its first and of its second half, 0, 0) and (the sums of its four runs of 16).
const kLargest = 4128768.0;
const kLimbScale = 1.0 / kLargest;

// The three bytes of each X, 128 added to every one.
fn quantised(v: vec4f, inverse: f32) -> vec4u {
    // 1.5 · 2²³ puts X into the last bits of a float; what is added removes the exponent and makes the bytes positive.
    return bitcast<vec4u>(v * inverse + 12582912.0) + vec4u(0xB5408080u);
}

// The bytes of four X, a word for each limb: pairs of them change places, as when a matrix is turned.
fn limb_words(z: vec4u) -> vec3u {
    let each = vec2u(0x00FF00FFu);
    let even = (z.xz & each) | ((z.yw & each) << vec2u(8u));
    let odd = ((z.xz >> vec2u(8u)) & each) | (z.yw & ~each);
    return vec3u((even.x & 0xFFFFu) | (even.y << 16u), (odd.x & 0xFFFFu) | (odd.y << 16u),
                 (even.x >> 16u) | (even.y & 0xFFFF0000u)) ^ vec3u(0x80808080u);
}

fn inverse_of(largest: f32) -> f32 {
    return select(0.0, kLargest / largest, largest > 0.0);
}

fn absmax_of_vec8(v: Vec8) -> f32 {
    let a = max(abs(v.v0), abs(v.v1));
    return max(max(a.x, a.y), max(a.z, a.w));
}

fn sum_of_vec8(v: Vec8) -> f32 { return dot(v.v0 + v.v1, vec4f(1.0)); }

// The words of eight neighbours: a vec3 of limbs for each four.
struct Vec8Limbs { first: vec3u, second: vec3u }

fn limbs_of_vec8(v: Vec8, largest: f32) -> Vec8Limbs {
    let inverse = inverse_of(largest);
    return Vec8Limbs(limb_words(quantised(v.v0, inverse)), limb_words(quantised(v.v1, inverse)));
}
