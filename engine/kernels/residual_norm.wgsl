// residual_norm — the seam between two sub-layers, one workgroup a token:
//   kAdd 1:  h = (h + x · inv_rms(x) ⊙ w) · scale      (x: what the sub-layer computed)
//   kAdd 2:  h = (h + rms(rms(x; w1) + rms(x2; w2); w)) · scale
//   kNext 1: y = h · inv_rms(h) · kNextScale ⊙ w_next
// h, x, x2, y: [tokens, n] f32. n: up to 64 K; need not divide the workgroup.
override kN: u32;
override kAdd: u32 = 1u;
override kNext: u32 = 1u;
override kNextScale: f32 = 1.0;
override kEps: f32 = 1e-6;
const kThreads = 256u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> x2: array<f32>;
@group(0) @binding(3) var<storage, read> w: array<f32>;  // w (kAdd), w1, w2 (kAdd 2), w_next (kNext): [n] each; scale
@group(0) @binding(4) var<storage, read_write> h: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

fn total(value: f32, t: u32) -> f32 { return sum_workgroup(value, t, kThreads); }

override kBefore: u32 = select(select(0u, 1u, kAdd == 1u), 3u, kAdd == 2u);  // arrays before w_next

fn inv_rms(sum: f32) -> f32 { return 1.0 / sqrt(sum / f32(kN) + kEps); }

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let token = group.x;
    if (token >= step.tokens) { return; }
    let base = token * kN;
    let scale_out = w[(kBefore + kNext) * kN];
    var sum = 0.0;
    if (kAdd == 1u) {
        for (var i = t; i < kN; i += kThreads) { sum += x[base + i] * x[base + i]; }
        let scale = inv_rms(total(sum, t));
        sum = 0.0;
        for (var i = t; i < kN; i += kThreads) {
            let v = (h[base + i] + x[base + i] * scale * w[i]) * scale_out;
            h[base + i] = v;
            sum += v * v;
        }
    } else if (kAdd == 2u) {
        var sum2 = 0.0;
        for (var i = t; i < kN; i += kThreads) {
            sum += x[base + i] * x[base + i];
            sum2 += x2[base + i] * x2[base + i];
        }
        let scale1 = inv_rms(total(sum, t));
        let scale2 = inv_rms(total(sum2, t));
        sum = 0.0;
        for (var i = t; i < kN; i += kThreads) {
            let v = x[base + i] * scale1 * w[kN + i] + x2[base + i] * scale2 * w[2u * kN + i];
            sum += v * v;
        }
        let scale = inv_rms(total(sum, t));
        sum = 0.0;
        for (var i = t; i < kN; i += kThreads) {
            let v = x[base + i] * scale1 * w[kN + i] + x2[base + i] * scale2 * w[2u * kN + i];
            let out = (h[base + i] + v * scale * w[i]) * scale_out;
            h[base + i] = out;
            sum += out * out;
        }
    } else {
        for (var i = t; i < kN; i += kThreads) { sum += h[base + i] * h[base + i]; }
    }
    if (kNext == 0u) { return; }
    let next = inv_rms(total(sum, t)) * kNextScale;
    for (var i = t; i < kN; i += kThreads) { y[base + i] = h[base + i] * next * w[kBefore * kN + i]; }
}
