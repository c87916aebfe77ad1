// x as floats in workgroup memory.
//# import gemv/x_floats
override kStagedVecs: u32 = 16u * kQuantGroups_1;
var<workgroup> staged: array<vec4f, kStagedVecs>;  // [run · 4 + i][quant group]

// Eight e of x, from thread t.
fn stage_vec8(e: u32, t: u32, v: Vec8) {
    if (e >= 8u * kQuantGroups_1) { return; }
    let run = e / 2u;
    let of_group = select(run % 4u, run / kQuantGroups_1, kApart_1);
    let quant_group = select(run / 4u, run % kQuantGroups_1, kApart_1);
    let at = (4u * of_group + 2u * (e % 2u)) * kQuantGroups_1 + quant_group;
    staged[at] = v.v0;
    staged[at + kQuantGroups_1] = v.v1;
}

fn x_at(u: u32, i: u32) -> vec4f { return staged[i * kQuantGroups_1 + u]; }
