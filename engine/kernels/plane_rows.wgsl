// Planes (planes.wgsl) that a kernel leaves behind for products. It has put_word(i, word), which stores word i of them.
//# needs put_word

// Eight e of a row of `units` units, from thread t. All threads of the workgroup come here, neighbours with neighbours.
fn leave_eight(e: u32, t: u32, v: Eight, units: u32) {
    let found = over_neighbours(largest_of_eight(v), sum_of_eight(v), t);
    if (e >= 8u * units) { return; }
    let planes = planes_of_eight(v, found.x);
    let u = e / 8u;
    let run = e / 2u % 4u;
    let place = 4u * (run * units + u) + 2u * (e % 2u);
    for (var plane = 0u; plane < 3u; plane++) {
        put_word(16u * units * plane + place, planes.first[plane]);
        put_word(16u * units * plane + place + 1u, planes.second[plane]);
    }
    let tail = 4u * (12u * units + 2u * u);
    if (e % 4u == 0u) { put_word(tail + run / 2u, bitcast<u32>(found.x * kUnitScale)); }
    if (e % 2u == 0u) { put_word(tail + 4u + run, bitcast<u32>(found.y)); }
}
