// What the parts of attention_decode found: x has their values, delta their stats, two a vec4. The kernel has kDim, of a head,
// and kMaxSplits, the parts there is room for.
fn x_eight(i: u32) -> Eight { return Eight(bitcast<vec4f>(x[i]), bitcast<vec4f>(x[i + 1u])); }

// (largest, sum) of part s of a head whose first part is `first`; delta holds two a vec4.
fn part_stats(first: u32, s: u32, splits: u32) -> vec2f {
    if (s >= splits) { return vec2f(-3.0e38, 0.0); }
    let two = delta[(first + s) / 2u];
    return select(two.xy, two.zw, s % 2u == 1u);
}

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
        let t0 = part_stats(first, s, splits);
        let t1 = part_stats(first, s + 1u, splits);
        let t2 = part_stats(first, s + 2u, splits);
        let t3 = part_stats(first, s + 3u, splits);
        let next = max(largest, max(max(t0.x, t1.x), max(t2.x, t3.x)));
        let p = exp(vec4f(t0.x, t1.x, t2.x, t3.x) - next);
        let fade = exp(largest - next);
        largest = next;
        sum = sum * fade + dot(p, vec4f(t0.y, t1.y, t2.y, t3.y));
        v = plus_eight(plus_eight(scaled_eight(v, fade), plus_eight(scaled_eight(v0, p.x), scaled_eight(v1, p.y))),
                       plus_eight(scaled_eight(v2, p.z), scaled_eight(v3, p.w)));
    }
    return scaled_eight(v, 1.0 / sum);
}
