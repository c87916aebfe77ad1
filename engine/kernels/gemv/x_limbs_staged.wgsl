// x as limbs in workgroup memory.
// One index leads to all of a quant group: Dawn checks every one. The last vec4 is there so that neighbouring quant groups lie in
// different banks of memory.
//# import lib/limbs, gemv/x_limbs
struct StagedGroup { limbs: array<vec4u, 12>, scale: vec4f, sums: vec4f, spare: vec4f }

override kStagedGroups: u32 = kQuantGroups_1;
var<workgroup> staged: array<StagedGroup, kStagedGroups>;

// Eight e of x, from thread t. Neighbouring threads bring the others of a half.
fn stage_vec8(e: u32, t: u32, v: Vec8) {
    let found = over_neighbours(absmax_of_vec8(v), sum_of_vec8(v), t);
    if (e >= 8u * kQuantGroups_1) { return; }
    let limbs = limbs_of_vec8(v, found.x);
    let mine = &staged[e / 8u];
    let run = e / 2u % 4u;
    let word = 2u * (e % 2u);
    for (var limb = 0u; limb < 3u; limb++) {
        let words = &(*mine).limbs[4u * limb + run];
        (*words)[word] = limbs.first[limb];
        (*words)[word + 1u] = limbs.second[limb];
    }
    if (e % 4u == 0u) { (*mine).scale[run / 2u] = found.x * kLimbScale; }
    if (e % 2u == 0u) { (*mine).sums[run] = found.y; }
}

fn activations(u: u32) -> Activations {
    let mine = &staged[u];
    let p = &(*mine).limbs;
    return Activations((*p)[0], (*p)[1], (*p)[2], (*p)[3], (*p)[4], (*p)[5], (*p)[6], (*p)[7], (*p)[8], (*p)[9],
                       (*p)[10], (*p)[11], (*mine).scale.xy, (*mine).sums);
}
