// adamw — one step of AdamW, and the gradients are forgotten. Without clip_factor.wgsl's permission nothing changes but that.
// g, value, first, second: of one length. grid: any; threads take every so many'th element.
//# import lib/common
struct Settings {
    learning_rate: f32,
    beta1: f32,
    beta2: f32,
    epsilon: f32,
    weight_decay: f32,
    clip_norm: f32,    // 0: no clipping
    correction1: f32,  // 1 − beta1^step
    correction2: f32,
}

@group(0) @binding(0) var<storage, read> settings: Settings;
@group(0) @binding(1) var<storage, read> found: vec4f;
@group(0) @binding(2) var<storage, read_write> g: array<f32>;
@group(0) @binding(3) var<storage, read_write> value: array<f32>;
@group(0) @binding(4) var<storage, read_write> first: array<f32>;
@group(0) @binding(5) var<storage, read_write> second: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) grid: vec3u) {
    let s = settings;
    let factor = found.y;
    for (var i = id.x; i < arrayLength(&g); i += 256u * grid.x) {
        if (factor >= 0.0) {
            let d = g[i] * factor;
            let m = s.beta1 * first[i] + (1.0 - s.beta1) * d;
            let v = s.beta2 * second[i] + (1.0 - s.beta2) * d * d;
            first[i] = m;
            second[i] = v;
            let kept = value[i] * (1.0 - s.learning_rate * s.weight_decay);
            value[i] = kept - s.learning_rate / s.correction1 * m / (sqrt(v / s.correction2) + s.epsilon);
        }
        g[i] = 0.0;
    }
}
