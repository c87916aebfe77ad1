// Limbs (limbs.wgsl) that a kernel leaves behind for products. It has put_word(i, word), which stores word i of them.
//# needs put_word

// Eight e of a row of `quant_groups` quant groups, from thread t. All threads of the workgroup come here, neighbours with neighbours.
fn store_limbs_of_vec8(e: u32, t: u32, v: Vec8, quant_groups: u32) {
    let found = over_neighbours(absmax_of_vec8(v), sum_of_vec8(v), t);
    if (e >= 8u * quant_groups) { return; }
    let limbs = limbs_of_vec8(v, found.x);
    let u = e / 8u;
    let run = e / 2u % 4u;
    let place = 4u * (run * quant_groups + u) + 2u * (e % 2u);
    for (var limb = 0u; limb < 3u; limb++) {
        put_word(16u * quant_groups * limb + place, limbs.first[limb]);
        put_word(16u * quant_groups * limb + place + 1u, limbs.second[limb]);
    }
    let tail = 4u * (12u * quant_groups + 2u * u);
    if (e % 4u == 0u) { put_word(tail + run / 2u, bitcast<u32>(found.x * kLimbScale)); }
    if (e % 2u == 0u) { put_word(tail + 4u + run, bitcast<u32>(found.y)); }
}
