// The rows of x in their order.
fn row_tile(x: u32) -> RowTile { return RowTile(0u, x * kTokens, step.tokens); }

fn token_at(expert: u32, i: u32) -> u32 { return i; }

fn taken(v: vec4f) -> vec4f { return v; }
