// Planes that a workgroup prepares for itself.
// One index leads to all of a unit: Dawn checks every one. The last vec4 is there so that neighbouring units lie in
// different banks of memory.
//# import x_planes
struct HeldUnit { planes: array<vec4u, 12>, scale: vec4f, sums: vec4f, spare: vec4f }

override kHeldUnits: u32 = select(kUnits_1, 1u, kSource == 0u);
var<workgroup> held_units: array<HeldUnit, kHeldUnits>;

// Eight e of x, from thread t. Neighbouring threads bring the others of a half.
fn keep_eight(e: u32, t: u32, v: Eight) {
    let found = over_neighbours(largest_of_eight(v), sum_of_eight(v), t);
    if (e >= 8u * kUnits_1) { return; }
    let planes = planes_of_eight(v, found.x);
    let held = &held_units[e / 8u];
    let run = e / 2u % 4u;
    let word = 2u * (e % 2u);
    for (var plane = 0u; plane < 3u; plane++) {
        let words = &(*held).planes[4u * plane + run];
        (*words)[word] = planes.first[plane];
        (*words)[word + 1u] = planes.second[plane];
    }
    if (e % 4u == 0u) { (*held).scale[run / 2u] = found.x * kUnitScale; }
    if (e % 2u == 0u) { (*held).sums[run] = found.y; }
}

fn activations(u: u32) -> Activations {
    if (kSource == 0u) { return ready_activations(u); }
    let held = &held_units[u];
    let p = &(*held).planes;
    return Activations((*p)[0], (*p)[1], (*p)[2], (*p)[3], (*p)[4], (*p)[5], (*p)[6], (*p)[7], (*p)[8], (*p)[9],
                       (*p)[10], (*p)[11], (*held).scale.xy, (*held).sums);
}
