// All rows of matvec.wgsl's matrix are in one format.
alias Ahead = Loaded;

fn loaded_ahead(rows: vec4u, u: u32) -> Ahead { return loaded(rows, u); }

fn all_dots(rows: vec4u, lane: u32, ahead: Ahead) -> vec4f { return dots(rows, lane, ahead); }
