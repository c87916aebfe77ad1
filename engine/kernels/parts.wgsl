// What the parts of attention_decode found: x has their values, delta their stats, two a vec4. The kernel has kDim, of a head,
// and kMaxSplits, the parts there is room for.
//# needs x, delta, kDim, kMaxSplits
fn x_eight(i: u32) -> Eight { return Eight(bitcast<vec4f>(x[i]), bitcast<vec4f>(x[i + 1u])); }

// What the parts found for eight e of the heads' outputs, four parts at a time.
fn merged(e: u32, splits: u32) -> Eight {
    let first = 8u * e / kDim * kMaxSplits;
    let stride = kDim / 4u;
    let at = first * stride + 2u * (e % (kDim / 8u));
    var largest = -3.0e38;
    var sum = 0.0;
    var v = Eight();
    for (var s = 0u; s < splits; s += 4u) {
        let last = splits - 1u;
        let v0 = x_eight(at + s * stride);
        let v1 = x_eight(at + min(s + 1u, last) * stride);
        let v2 = x_eight(at + min(s + 2u, last) * stride);
        let v3 = x_eight(at + min(s + 3u, last) * stride);
        // Two parts' (largest, sum) each.
        let two = delta[(first + s) / 2u];
        let others = delta[(first + s) / 2u + 1u];
        let live = vec4u(s, s + 1u, s + 2u, s + 3u) < vec4u(splits);
        let peaks = select(vec4f(-3.0e38), vec4f(two.xz, others.xz), live);
        let next = max(largest, max(max(peaks.x, peaks.y), max(peaks.z, peaks.w)));
        let p = exp(peaks - next);
        let fade = exp(largest - next);
        largest = next;
        sum = sum * fade + dot(p, select(vec4f(), vec4f(two.yw, others.yw), live));
        v = plus_eight(plus_eight(scaled_eight(v, fade), plus_eight(scaled_eight(v0, p.x), scaled_eight(v1, p.y))),
                       plus_eight(scaled_eight(v2, p.z), scaled_eight(v3, p.w)));
    }
    return scaled_eight(v, 1.0 / sum);
}
