// All rows of gemv.wgsl's matrix are in one format.
alias Ahead = Loaded_1;

fn loaded_ahead(rows: vec4u, u: u32) -> Ahead { return loaded_1(rows, u); }

fn all_dots(rows: vec4u, lane: u32, ahead: Ahead) -> vec4f { return dots_1(rows, lane, ahead); }
