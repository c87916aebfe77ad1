// patch_heads — the heads of an image's patches, normed and turned by where a patch is:
//   y[t, head] = turn(rms(x[t, head]; norm))
// The first half of a head turns with the patch's column, the second with its row; each half as rope does, pair i of it being
// elements i and i + dim / 4. kTurns 0: nothing turns, and there is no norm's weight (values).
// x, y: [patches, heads, kHeadDim]. frequencies: [kHeadDim / 4], as in lib/rope.wgsl. grid: (heads, patches).
//# import lib/common, $reduce, lib/rope
override kHeads: u32;
override kHeadDim: u32;
override kTurns: u32 = 1u;
override kEps: f32 = 1e-6;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> columns: u32;  // patches in a row of the image
@group(0) @binding(1) var<storage, read> norm: array<f32>;
@group(0) @binding(2) var<storage, read> frequencies: array<vec4f>;
@group(0) @binding(3) var<storage, read> x: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let patch_index = group.y;
    let base = (patch_index * kHeads + group.x) * kHeadDim;
    var sum = 0.0;
    for (var i = t; i < kHeadDim; i += kThreads) { sum += x[base + i] * x[base + i]; }
    let r = 1.0 / sqrt(sum_workgroup(sum, t, kThreads) / f32(kHeadDim) + kEps);
    if (kTurns == 0u) {
        for (var i = t; i < kHeadDim; i += kThreads) { y[base + i] = x[base + i] * r; }
        return;
    }
    let pairs = kHeadDim / 4u;
    for (var i = t; i < 2u * pairs; i += kThreads) {
        let second = i >= pairs;
        let pair = i % pairs;
        let place = select(patch_index % columns, patch_index / columns, second);
        let turn = cos_sin(revolutions_at(place, frequencies[pair]));
        let at = select(0u, 2u * pairs, second) + pair;
        let a = x[base + at] * r * norm[at];
        let b = x[base + at + pairs] * r * norm[at + pairs];
        y[base + at] = a * turn.x - b * turn.y;
        y[base + at + pairs] = a * turn.y + b * turn.x;
    }
}
