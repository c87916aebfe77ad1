// softmax_rows — each row of scores becomes probabilities, in place: whoever asks sees all there is.
// scores: [rows, cols]. grid: rows, in two dimensions.
//# import lib/common, $reduce
const kThreads = 64u;

struct Shape { rows: u32, cols: u32 }

@group(0) @binding(0) var<storage, read> shape: Shape;
@group(0) @binding(1) var<storage, read_write> scores: array<f32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) grid: vec3u, @builtin(local_invocation_index) t: u32) {
    let row = group.y * grid.x + group.x;
    if (row >= shape.rows) { return; }
    let first = row * shape.cols;
    var largest = -3.0e38;
    for (var i = t; i < shape.cols; i += kThreads) { largest = max(largest, scores[first + i]); }
    largest = max_workgroup(largest, t, kThreads);
    var sum = 0.0;
    for (var i = t; i < shape.cols; i += kThreads) { sum += exp(scores[first + i] - largest); }
    let total = sum_workgroup(sum, t, kThreads);
    for (var i = t; i < shape.cols; i += kThreads) { scores[first + i] = exp(scores[first + i] - largest) / total; }
}
