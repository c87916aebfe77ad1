// W is a stack of kExperts matrices and the rows are slots: those of each expert as moe/expert_lists.wgsl has them, at most
// kMaxRows each; kShare of them share a row of x.
override kExperts: u32;
override kMaxRows: u32;
override kTiles: u32 = (kMaxRows + kTokens - 1u) / kTokens;

@group(0) @binding(3) var<storage, read> expert_lists: array<u32>;

fn row_tile(x: u32) -> RowTile {
    let expert = x / kTiles;
    return RowTile(expert, x % kTiles * kTokens, expert_lists[expert]);
}

// Where the row is that comes `i`-th.
fn token_at(expert: u32, i: u32) -> u32 { return expert_lists[kExperts + expert * kMaxRows + i]; }

fn taken(v: vec4f) -> vec4f { return v; }
