// turns — how far the pairs of a head's elements are turned at the token's position, as (cos, sin): once a token, for all layers
//# import common, rope
override kPairs: u32;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> rates: array<vec4f>;  // as rope.wgsl has them
@group(0) @binding(2) var<storage, read_write> turns: array<vec2f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x < kPairs) { turns[id.x] = cos_sin(turns_at(step.position, rates[id.x])); }
}
