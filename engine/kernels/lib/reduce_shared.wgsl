// Sums over threads through workgroup memory: works everywhere. reduce_subgroup.wgsl has the same functions.
var<workgroup> lane_sums: array<vec4f, 256>;

// The sum over each group of `lanes` neighbouring threads, in every group's first thread.
fn sum_lanes(value: vec4f, t: u32, lanes: u32) -> vec4f {
    workgroupBarrier();
    lane_sums[t] = value;
    for (var left = lanes; left > 1u; left = (left + 1u) / 2u) {
        let half = (left + 1u) / 2u;
        workgroupBarrier();
        if (t % lanes + half < left) { lane_sums[t] += lane_sums[t + half]; }
    }
    workgroupBarrier();
    return lane_sums[t];
}

// sum_lanes of the first `rows` components.
fn sum_rows(value: vec4f, t: u32, lanes: u32, rows: u32) -> vec4f { return sum_lanes(value, t, lanes); }

// Of each four neighbouring threads, thread j (or one of two) has the sum of their component j of the first `rows`, 2 or 4.
fn sum_of_four_threads(value: vec4f, t: u32, rows: u32) -> f32 {
    workgroupBarrier();
    lane_sums[t] = value;
    workgroupBarrier();
    let first = t / 4u * 4u;
    return (lane_sums[first] + lane_sums[first + 1u] + lane_sums[first + 2u] + lane_sums[first + 3u])[t % rows];
}

// The sum over the workgroup, in every thread.
fn sum_workgroup(value: f32, t: u32, threads: u32) -> f32 {
    return first_sums(vec4f(value, 0.0, 0.0, 0.0), t, threads, threads).x;
}

// Four sums over the workgroup, in every thread; only its first `busy` threads have anything.
fn first_sums(value: vec4f, t: u32, threads: u32, busy: u32) -> vec4f {
    _ = sum_lanes(value, t, threads);
    return lane_sums[0];
}

// The sum over each `warps` neighbouring warps of 32 threads, in all of them.
fn sum_warps(value: f32, t: u32, warps: u32) -> f32 {
    _ = sum_lanes(vec4f(value, 0.0, 0.0, 0.0), t, 32u * warps);
    return lane_sums[t / (32u * warps) * (32u * warps)].x;
}

// Four sums over each warp of 32 neighbouring threads, in all of them.
fn sum_warp(value: vec4f, t: u32) -> vec4f {
    _ = sum_lanes(value, t, 32u);
    return lane_sums[t / 32u * 32u];
}

// The largest of each `lanes` neighbouring threads' (a power of two), in all of them.
fn max_lanes(value: f32, t: u32, lanes: u32) -> f32 {
    workgroupBarrier();
    lane_sums[t].x = value;
    for (var half = lanes / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (t % lanes < half) { lane_sums[t].x = max(lane_sums[t].x, lane_sums[t + half].x); }
    }
    workgroupBarrier();
    return lane_sums[t / lanes * lanes].x;
}

// The largest of each warp of 32 neighbouring threads', in all of them.
fn max_warp(value: f32, t: u32) -> f32 { return max_lanes(value, t, 32u); }

// The largest of the workgroup's, in every thread.
fn max_workgroup(value: f32, t: u32, threads: u32) -> f32 { return max_lanes(value, t, threads); }

// The largest of four neighbouring threads', and the sum of two neighbouring threads'.
fn over_neighbours(largest: f32, sum: f32, t: u32) -> vec2f {
    workgroupBarrier();
    lane_sums[t] = vec4f(largest, sum, 0.0, 0.0);
    workgroupBarrier();
    return vec2f(max(max(largest, lane_sums[t ^ 1u].x), max(lane_sums[t ^ 2u].x, lane_sums[t ^ 3u].x)),
                 sum + lane_sums[t ^ 1u].y);
}
