// Planes (planes.wgsl) that a kernel leaves behind for products; it has y: array<vec4u>, kUnits and at most 256 threads.
var<workgroup> run_sums: array<f32, 256>;
var<workgroup> run_scales: array<f32, 256>;

// Run r of x, from thread t. All threads of the workgroup come here, neighbours with neighbouring runs.
fn leave_run(r: u32, t: u32, v: Run) {
    let largest = max_of_pair(largest_of_run(v), t);
    workgroupBarrier();
    run_sums[t] = sum_of_run(v);
    run_scales[t] = largest / kLargest;
    workgroupBarrier();
    if (r >= 4u * kUnits) { return; }
    let planes = planes_of_run(v, largest);
    let u = r / 4u;
    let place = (r % 4u) * kUnits + u;
    y[place] = planes.low;
    y[4u * kUnits + place] = planes.middle;
    y[8u * kUnits + place] = planes.high;
    if (r % 4u != 0u) { return; }
    y[12u * kUnits + 2u * u] = bitcast<vec4u>(vec4f(run_scales[t], run_scales[t + 2u], 0.0, 0.0));
    y[12u * kUnits + 2u * u + 1u] =
        bitcast<vec4u>(vec4f(run_sums[t], run_sums[t + 1u], run_sums[t + 2u], run_sums[t + 3u]));
}
