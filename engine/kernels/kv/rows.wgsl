// How keys and values lie in a cache: [kSequences, kRing, kv_heads] rows of kHeadDim elements, position p at p mod kRing; behind all rows
// the scales of each, where the format (the other files here) has any. A row is read and written in vec4s of
// 4 · kPerWord elements; kVecsAScale of them have their scales in the same vec4, of which a row has kScaleVecs. kRowScale:
// all of a row has one scale.
override kRowVecs: u32 = kHeadDim / (4u * kPerWord);

// first: where a sequence begins, of the kSequences that share the cache.
fn cache_row(first: u32, position: u32, kv: u32) -> u32 { return (first + position % kRing) * kKvHeads + kv; }

// Where a row's scales begin.
fn scales_at(row: u32) -> u32 { return kSequences * kRing * kKvHeads * kRowVecs + row * kScaleVecs; }

// The elements of a vec4 without their scale; v1 … v3 as far as the format fills them.
fn kv_vec16(v: vec4u) -> Vec16 {
    if (kPerWord == 1u) { return Vec16(bitcast<vec4f>(v), vec4f(), vec4f(), vec4f()); }
    if (kPerWord == 4u) { return Vec16(kv_values(v.x), kv_values(v.y), kv_values(v.z), kv_values(v.w)); }
    return Vec16(vec4f(kv_values(v.x).xy, kv_values(v.y).xy), vec4f(kv_values(v.z).xy, kv_values(v.w).xy), vec4f(),
               vec4f());
}

// The nearest whole numbers to x / scale, even ones where two are as near.
fn quantised(x: vec4f, scale: f32, most: f32) -> vec4f {
    return clamp(round(x * (1.0 / select(1.0, scale, scale > 0.0))), vec4f(-most), vec4f(most));
}

// A key and a value on their way into the cache, and the largest size in every 8 elements of each: a vec4 for 32. Where a
// row has one scale, the first vec4 has the largest of all.
override kSpans: u32 = (kHeadDim + 31u) / 32u;
override kOwnFloats: u32 = 2u * kHeadDim;
override kAbsmaxVecs: u32 = 2u * kSpans;
var<workgroup> own: array<f32, kOwnFloats>;
var<workgroup> absmax: array<vec4f, kAbsmaxVecs>;

// The peaks of the row that is `row` 0 or 1 of `own`, found by `lanes` threads.
fn find_absmax(row: u32, lane: u32, lanes: u32) {
    if (!kHasScales) { return; }
    for (var eight = lane; eight < 4u * kSpans; eight += lanes) {
        var found = 0.0;
        for (var j = 0u; j < 8u; j++) {
            // Each thread begins elsewhere: neighbours must not want the same bank of memory.
            let i = 8u * eight + (eight + j) % 8u;
            if (i < kHeadDim) { found = max(found, abs(own[row * kHeadDim + i])); }
        }
        absmax[row * kSpans + eight / 4u][eight % 4u] = found;
    }
    workgroupBarrier();
    if (!kRowScale) { return; }
    if (lane == 0u) {
        var found = absmax[row * kSpans];
        for (var span = 1u; span < kSpans; span++) { found = max(found, absmax[row * kSpans + span]); }
        absmax[row * kSpans] = found;
    }
    workgroupBarrier();
}

fn max_of(v: vec4f) -> f32 { return max(max(v.x, v.y), max(v.z, v.w)); }

// vec4 i of that row as the cache holds it.
fn own_vec(row: u32, i: u32) -> vec4u {
    let scale = own_scale(row * kSpans, i);
    let at = row * kHeadDim + i * 4u * kPerWord;
    return vec4u(own_word(at, scale), own_word(at + kPerWord, scale), own_word(at + 2u * kPerWord, scale),
                 own_word(at + 3u * kPerWord, scale));
}

fn own_word(at: u32, scale: f32) -> u32 {
    var x = vec4f(own[at], 0.0, 0.0, 0.0);
    if (kPerWord > 1u) { x.y = own[at + 1u]; }
    if (kPerWord > 2u) {
        x.z = own[at + 2u];
        x.w = own[at + 3u];
    }
    return kv_word(x, scale);
}
