// cross_entropy_backward — the logits of a tile become the gradient by them before the soft cap, in place:
//   weight · (softmax − [is the target]) · (1 − (logit / cap)²)
// As cross_entropy.wgsl, which has seen all tiles before. kCap 0: there is no cap. grid: (kStride / 64, tokens).
//# import lib/common
override kStride: u32;
override kCap: f32 = 30.0;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> tile: vec4u;
@group(0) @binding(2) var<storage, read> targets: array<vec2u>;
@group(0) @binding(3) var<storage, read> sums: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> logits: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let row = id.y;
    if (row >= step.tokens || id.x >= tile.y) { return; }
    let at = row * kStride + id.x;
    let logit = logits[at];
    var d = exp(logit - sums[row].x) / sums[row].y;
    if (tile.x + id.x == targets[row].x) { d -= 1.0; }
    d *= bitcast<f32>(targets[row].y);
    if (kCap > 0.0) { d *= 1.0 - (logit / kCap) * (logit / kCap); }
    logits[at] = d;
}
