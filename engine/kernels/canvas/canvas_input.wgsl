// canvas_input — what the layers begin with: h = rms(x + signal), or rms(x) where there is no signal. x, signal, h: [tokens, n],
// n a multiple of 4. grid: (tokens).
//# import lib/common, $reduce
override kCols: u32;
override kSignal: u32 = 1u;
override kEps: f32 = 1e-6;
const kThreads = 256u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<storage, read> signal: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> h: array<vec4f>;

override kVecs: u32 = kCols / 4u;

fn sum_at(i: u32) -> vec4f {
    if (kSignal == 0u) { return x[i]; }
    return x[i] + signal[i];
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    if (group.x >= step.tokens) { return; }
    let base = group.x * kVecs;
    var squares = 0.0;
    for (var i = t; i < kVecs; i += kThreads) {
        let v = sum_at(base + i);
        squares += dot(v, v);
    }
    let inverse = inverseSqrt(sum_workgroup(squares, t, kThreads) / f32(kCols) + kEps);
    for (var i = t; i < kVecs; i += kThreads) { h[base + i] = sum_at(base + i) * inverse; }
}
