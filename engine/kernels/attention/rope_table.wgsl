// rope_table — how far the pairs of a head's elements are rotated at the token's position, as (cos, sin): once a token, for all layers
// grid: (kPairs / 64).
//# import lib/common, lib/rope
override kPairs: u32;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> frequencies: array<vec4f>;  // as rope.wgsl has them
@group(0) @binding(2) var<storage, read_write> rope_table: array<vec2f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x < kPairs) { rope_table[id.x] = cos_sin(revolutions_at(step.position, frequencies[id.x])); }
}
