// The rows of x in their order, clipped before they are multiplied. What epilogue_clip.wgsl clips results to is here too.
@group(0) @binding(3) var<storage, read> bounds: vec4f;  // least and greatest x, least and greatest result

fn row_tile(x: u32) -> RowTile { return RowTile(0u, x * kTokens, step.tokens); }

fn token_at(expert: u32, i: u32) -> u32 { return i; }

fn taken(v: vec4f) -> vec4f { return clamp(v, vec4f(bounds.x), vec4f(bounds.y)); }
