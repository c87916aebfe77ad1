// Sums over threads by shuffling within subgroups of at least 32: a fraction of the barriers of reduce_shared.wgsl.
// Assumes that neighbouring threads are neighbours in their subgroup, as they are wherever this is chosen.
enable subgroups;

var<workgroup> warp_sums: array<vec4f, 8>;

fn shuffled(value: vec4f, lanes: u32) -> vec4f {
    var v = value;
    if (lanes > 1u) { v += subgroupShuffleXor(v, 1u); }
    if (lanes > 2u) { v += subgroupShuffleXor(v, 2u); }
    if (lanes > 4u) { v += subgroupShuffleXor(v, 4u); }
    if (lanes > 8u) { v += subgroupShuffleXor(v, 8u); }
    if (lanes > 16u) { v += subgroupShuffleXor(v, 16u); }
    return v;
}

// The sum over the workgroup, in every thread.
fn sum_workgroup(value: f32, t: u32, threads: u32) -> f32 {
    workgroupBarrier();
    return sum_warps(value, t, threads / 32u);
}

// The sums of the first `rows` (1, 2 or 4) components over groups of `lanes` neighbouring threads, at least `rows` of them and at
// most 32: thread j of each `rows` has the sum of component j. Whoever passes on half of what it has and keeps the other half
// has a quarter left after two rounds: 6 shuffles in place of 20.
fn sum_of_few(v: vec4f, t: u32, lanes: u32, rows: u32) -> f32 {
    let odd = t % 2u == 1u;
    let late = t % 4u > 1u;
    var sum = v.x;
    if (rows == 2u) { sum = select(v.x, v.y, odd) + subgroupShuffleXor(select(v.y, v.x, odd), 1u); }
    if (rows == 4u) {
        let two = select(v.xz, v.yw, odd) + subgroupShuffleXor(select(v.yw, v.xz, odd), 1u);
        sum = select(two.x, two.y, late) + subgroupShuffleXor(select(two.y, two.x, late), 2u);
    }
    if (rows < 2u && lanes > 1u) { sum += subgroupShuffleXor(sum, 1u); }
    if (rows < 4u && lanes > 2u) { sum += subgroupShuffleXor(sum, 2u); }
    if (lanes > 4u) { sum += subgroupShuffleXor(sum, 4u); }
    if (lanes > 8u) { sum += subgroupShuffleXor(sum, 8u); }
    if (lanes > 16u) { sum += subgroupShuffleXor(sum, 16u); }
    return sum;
}

fn sum_of_four(v: vec4f, t: u32) -> f32 { return sum_of_few(v, t, 32u, 4u); }

// Of each four neighbouring threads, thread j (or one of two) has the sum of their component j of the first `rows`, 2 or 4.
fn sum_of_four_threads(v: vec4f, t: u32, rows: u32) -> f32 { return sum_of_few(v, t, 4u, rows); }

// The sums of the first `rows` components over groups of `lanes` threads, a power of two or a multiple of 32, in every group's
// first thread. Nobody may still be reading warp_sums.
fn sum_rows(v: vec4f, t: u32, lanes: u32, rows: u32) -> vec4f {
    if (lanes < rows) { return shuffled(v, lanes); }
    if (lanes > 32u) {
        let sum = sum_of_few(v, t, 32u, rows);
        if (t % 32u < rows) { warp_sums[t / 32u][t % 4u] = sum; }
        workgroupBarrier();
        // Only who wants them reads them: workgroup memory is slow where all threads want the same vec4. Where there is one
        // group, the compiler knows from the division where they are (t / 32 would be right, too, and cost 0.6 µs on an H200).
        let first = t / lanes * (lanes / 32u);
        var sums = vec4f();
        if (t % lanes == 0u) {
            sums = warp_sums[first];
            for (var i = 1u; i < lanes / 32u; i++) { sums += warp_sums[first + i]; }
        }
        return sums;
    }
    let sum = sum_of_few(v, t, lanes, rows);
    if (rows == 1u) { return vec4f(sum, 0.0, 0.0, 0.0); }
    let two = vec2f(sum, subgroupShuffleXor(sum, 1u));
    if (rows == 2u) { return vec4f(two, 0.0, 0.0); }
    return vec4f(two, subgroupShuffleXor(two, 2u));
}

// Four sums over the workgroup, in every thread; only its first `busy` threads have anything. The first ones of a kernel: nobody
// may still be reading warp_sums.
fn first_sums(value: vec4f, t: u32, threads: u32, busy: u32) -> vec4f {
    let sum = sum_of_four(value, t);
    if (t % 32u < 4u) { warp_sums[t / 32u][t % 4u] = sum; }
    workgroupBarrier();
    var sums = warp_sums[0];
    for (var i = 1u; i < (min(threads, busy) + 31u) / 32u; i++) { sums += warp_sums[i]; }
    return sums;
}

// The sum over each `warps` neighbouring warps of 32 threads, in all of them. Nobody may still be reading warp_sums.
fn sum_warps(value: f32, t: u32, warps: u32) -> f32 {
    let sum = sum_of_few(vec4f(value, 0.0, 0.0, 0.0), t, 32u, 1u);
    if (t % 32u == 0u) { warp_sums[t / 32u].x = sum; }
    workgroupBarrier();
    let first = t / 32u / warps * warps;
    var total = warp_sums[first].x;
    for (var i = 1u; i < warps; i++) { total += warp_sums[first + i].x; }
    return total;
}

// Four sums over each warp of 32 neighbouring threads, in all of them.
fn sum_warp(value: vec4f, t: u32) -> vec4f {
    let sum = sum_of_four(value, t);
    let other = subgroupShuffleXor(sum, 1u);
    let two = select(vec2f(sum, other), vec2f(other, sum), t % 2u == 1u);
    let others = subgroupShuffleXor(two, 2u);
    return select(vec4f(two, others), vec4f(others, two), t % 4u > 1u);
}

// The largest of each warp of 32 neighbouring threads', in all of them.
fn max_warp(value: f32, t: u32) -> f32 {
    var v = max(value, subgroupShuffleXor(value, 1u));
    v = max(v, subgroupShuffleXor(v, 2u));
    v = max(v, subgroupShuffleXor(v, 4u));
    v = max(v, subgroupShuffleXor(v, 8u));
    return max(v, subgroupShuffleXor(v, 16u));
}

// The largest of four neighbouring threads', and the sum of two neighbouring threads'.
fn over_neighbours(largest: f32, sum: f32, t: u32) -> vec2f {
    let pair = max(largest, subgroupShuffleXor(largest, 1u));
    return vec2f(max(pair, subgroupShuffleXor(pair, 2u)), sum + subgroupShuffleXor(sum, 1u));
}

// The largest of the workgroup's, in every thread.
fn max_workgroup(value: f32, t: u32, threads: u32) -> f32 {
    var v = max_warp(value, t);
    workgroupBarrier();
    if (t % 32u == 0u) { warp_sums[t / 32u].x = v; }
    workgroupBarrier();
    for (var i = 0u; i < threads / 32u; i++) { v = max(v, warp_sums[i].x); }
    return v;
}
