// What the parts of attention_decode found: x has their values, delta their stats, two a vec4. The kernel has kDim, of a head,
// and kMaxSplits, the parts there is room for.
fn x_run(i: u32) -> Run {
    return Run(bitcast<vec4f>(x[i]), bitcast<vec4f>(x[i + 1u]), bitcast<vec4f>(x[i + 2u]), bitcast<vec4f>(x[i + 3u]));
}

// (largest, sum) of part s of a head whose first part is `first`; delta holds two a vec4.
fn part_stats(first: u32, s: u32, splits: u32) -> vec2f {
    if (s >= splits) { return vec2f(-3.0e38, 0.0); }
    let two = delta[(first + s) / 2u];
    return select(two.xy, two.zw, s % 2u == 1u);
}

// What the parts found for run r of the heads' outputs, four parts at a time.
fn merged(r: u32, splits: u32) -> Run {
    let first = 16u * r / kDim * kMaxSplits;
    let stride = kDim / 4u;
    let at = first * stride + 4u * (r % (kDim / 16u));
    var largest = -3.0e38;
    var sum = 0.0;
    var v = Run();
    for (var s = 0u; s < splits; s += 4u) {
        let last = splits - 1u;
        let v0 = x_run(at + s * stride);
        let v1 = x_run(at + min(s + 1u, last) * stride);
        let v2 = x_run(at + min(s + 2u, last) * stride);
        let v3 = x_run(at + min(s + 3u, last) * stride);
        let t0 = part_stats(first, s, splits);
        let t1 = part_stats(first, s + 1u, splits);
        let t2 = part_stats(first, s + 2u, splits);
        let t3 = part_stats(first, s + 3u, splits);
        let next = max(largest, max(max(t0.x, t1.x), max(t2.x, t3.x)));
        let p = exp(vec4f(t0.x, t1.x, t2.x, t3.x) - next);
        let fade = exp(largest - next);
        largest = next;
        sum = sum * fade + dot(p, vec4f(t0.y, t1.y, t2.y, t3.y));
        v = plus(plus(scaled(v, fade), plus(scaled(v0, p.x), scaled(v1, p.y))),
                 plus(scaled(v2, p.z), scaled(v3, p.w)));
    }
    return scaled(v, 1.0 / sum);
}
