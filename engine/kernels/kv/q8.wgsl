// Four signed bytes a word, and an f16 scale for every 32 elements; 8 scales a vec4. kHeadDim: a multiple of 32.
const kPerWord = 4u;
const kHasScales = true;
const kRowScale = false;
const kVecsAScale = 16u;
override kScaleVecs: u32 = (kHeadDim + 255u) / 256u;

fn kv_values(word: u32) -> vec4f { return signed_bytes(word); }

fn kv_word(x: vec4f, scale: f32) -> u32 {
    let n = vec4u(vec4i(quantised(x, scale, 127.0))) & vec4u(255u);
    return n.x | (n.y << 8u) | (n.z << 16u) | (n.w << 24u);
}

// vec4s 2s and 2s + 1 of a row share scale s.
fn kv_scale(scales: vec4u, i: u32) -> f32 { return unpack2x16float(scales[i / 4u % 4u])[i / 2u % 2u]; }

fn span_scale(peak: f32) -> u32 { return pack_halves(vec2f(min(peak / 127.0, 65504.0), 0.0)); }

fn own_scale(first: u32, i: u32) -> f32 { return unpack2x16float(span_scale(max_of(absmax[first + i / 2u]))).x; }

fn own_scales(first: u32, i: u32) -> vec4u {
    var out = vec4u();
    for (var j = 0u; j < 8u; j++) {
        let span = 8u * i + j;
        if (span < kSpans) { out[j / 2u] |= span_scale(max_of(absmax[first + span])) << (16u * (j % 2u)); }
    }
    return out;
}
