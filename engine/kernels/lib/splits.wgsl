// What the splits of flash_decode found: x has their values, stats (max, sum), two a vec4. The kernel has kHeadDim and
// kMaxSplits, the splits there is room for.
//# import lib/x_vec8
//# needs x, stats, kHeadDim, kMaxSplits

// Eight e of the heads' outputs, four splits at a time.
fn merged(e: u32, splits: u32) -> Vec8 {
    let first = 8u * e / kHeadDim * kMaxSplits;
    let stride = kHeadDim / 4u;
    let at = first * stride + 2u * (e % (kHeadDim / 8u));
    var running_max = -3.0e38;
    var sum = 0.0;
    var v = Vec8();
    for (var s = 0u; s < splits; s += 4u) {
        let last = splits - 1u;
        let v0 = x_vec8(at + s * stride);
        let v1 = x_vec8(at + min(s + 1u, last) * stride);
        let v2 = x_vec8(at + min(s + 2u, last) * stride);
        let v3 = x_vec8(at + min(s + 3u, last) * stride);
        // Two splits' (max, sum) each.
        let two = stats[(first + s) / 2u];
        let others = stats[(first + s) / 2u + 1u];
        let live = vec4u(s, s + 1u, s + 2u, s + 3u) < vec4u(splits);
        let maxima = select(vec4f(-3.0e38), vec4f(two.xz, others.xz), live);
        let next = max(running_max, max(max(maxima.x, maxima.y), max(maxima.z, maxima.w)));
        let p = exp(maxima - next);
        let rescale = exp(running_max - next);
        running_max = next;
        sum = sum * rescale + dot(p, select(vec4f(), vec4f(two.yw, others.yw), live));
        v = plus_vec8(plus_vec8(scaled_vec8(v, rescale), plus_vec8(scaled_vec8(v0, p.x), scaled_vec8(v1, p.y))),
                       plus_vec8(scaled_vec8(v2, p.z), scaled_vec8(v3, p.w)));
    }
    return scaled_vec8(v, 1.0 / sum);
}
