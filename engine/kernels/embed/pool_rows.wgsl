// pool_rows — y[t, :] = the mean of x's rows of text t
//
// A workgroup takes eight vec4s of a row, and of the text's rows as many at a time as it has lanes: 16.
// x: [rows, kCols], kCols a multiple of 4. texts: (first row, the one behind the last) of each. y: [texts, kCols].
// The step counts texts. grid: (kVecs / 8, texts).
//# import lib/common
override kCols: u32;
override kVecs: u32 = kCols / 4u;
const kWidth = 8u;
const kLanes = 16u;
const kThreads = kWidth * kLanes;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<storage, read> texts: array<vec2u>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
var<workgroup> sums: array<vec4f, kThreads>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let text = group.y;
    if (text >= step.tokens) { return; }
    let rows = texts[text];
    let column = group.x * kWidth + t % kWidth;
    let at = min(column, kVecs - 1u);
    var sum = vec4f();
    for (var row = rows.x + t / kWidth; row < rows.y; row += kLanes) { sum += x[row * kVecs + at]; }
    sums[t] = sum;
    workgroupBarrier();
    if (t >= kWidth || column >= kVecs) { return; }
    for (var lane = 1u; lane < kLanes; lane++) { sum += sums[lane * kWidth + t]; }
    y[text * kVecs + column] = sum / f32(rows.y - rows.x);
}
