// x is there as floats; it is staged in the form that the product takes.
//# import lib/x_vec8
fn prepare(t: u32, base: u32, stores: bool) {
    for (var first = 0u; first < 8u * kQuantGroups_1; first += kThreads) {
        let e = first + t;
        var v = Vec8();
        if (8u * e < kCols) { v = x_vec8(base + 2u * e); }
        stage_vec8(e, t, v);
    }
    workgroupBarrier();
}
