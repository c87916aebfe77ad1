// How every whole-number encoding lies on the GPU: row after row, each row the quants of its quant groups of 64 weights, then
// the words that scale them, padded to 16 bytes. The format's own file says how many of each there are:
//   kQuantVecs_1 vec4 a quant group, kScaleWords_1 words a quant group, kBlockWords_1 words for every four quant groups.
// A quant group is four runs of 16 neighbouring weights: weight = scale · byte − shift, bytes from −128 to 127.
//# needs w, kCols
struct QuantGroup_1 {
    q0: vec4u, q1: vec4u, q2: vec4u, q3: vec4u,
    scale: vec4f,  // of each run
    shift: vec4f,
}

const kApart_1 = false;  // a quant group's runs are neighbours

// Unit u of a row. What is asked for early takes few registers until it is used: Weights, the format's own, is what is
// loaded, and quant_group_of unpacks it.
fn quant_group_1(row: u32, u: u32) -> QuantGroup_1 { return quant_group_of_1(weights_1(row, u)); }

override kQuantGroups_1: u32 = (kCols + 63u) / 64u;
override kRowVecs_1: u32 = kQuantVecs_1 * kQuantGroups_1 + (kScaleWords_1 * kQuantGroups_1 + kBlockWords_1 * ((kQuantGroups_1 + 3u) / 4u) + 3u) / 4u;

// vec4 i of a quant group.
fn quants_1(row: u32, u: u32, i: u32) -> vec4u { return w[row * kRowVecs_1 + u * kQuantVecs_1 + i]; }

// Word i of those behind the row's quants: all quant groups' scales first.
fn scale_word_1(row: u32, i: u32) -> u32 { return w[row * kRowVecs_1 + kQuantVecs_1 * kQuantGroups_1 + i / 4u][i % 4u]; }

fn low_nibbles_1(v: vec4u) -> vec4u { return v & vec4u(0x0F0F0F0Fu); }
fn high_nibbles_1(v: vec4u) -> vec4u { return (v >> vec4u(4u)) & vec4u(0x0F0F0F0Fu); }

// Run r of a row, likewise.
struct Packed_1 { q: vec4u, scale: f32, shift: f32 }

fn packed_1(row: u32, r: u32) -> Packed_1 {
    let u = quant_group_1(row, r / 4u);
    let odd = r % 2u == 1u;
    let late = r % 4u > 1u;
    let q = select(select(u.q0, u.q1, odd), select(u.q2, u.q3, odd), late);
    let pair = select(vec4f(u.scale.xy, u.shift.xy), vec4f(u.scale.zw, u.shift.zw), late);
    return Packed_1(q, select(pair.x, pair.y, odd), select(pair.z, pair.w, odd));
}

fn unpacked_1(p: Packed_1) -> Vec16 {
    return Vec16(p.scale * signed_bytes(p.q.x) - p.shift, p.scale * signed_bytes(p.q.y) - p.shift,
               p.scale * signed_bytes(p.q.z) - p.shift, p.scale * signed_bytes(p.q.w) - p.shift);
}

fn vec16_values_1(row: u32, r: u32) -> Vec16 { return unpacked_1(packed_1(row, r)); }
