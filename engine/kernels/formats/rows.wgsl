// Rows of units (unit.wgsl) as long as the pipeline says.
alias Stored = vec4u;

override kUnits: u32 = (kCols + 63u) / 64u;
override kRowVecs: u32 = kQuantVecs * kUnits + (kScaleWords * kUnits + kBlockWords * ((kUnits + 3u) / 4u) + 3u) / 4u;

fn quants(row: u32, u: u32, i: u32) -> vec4u { return w[row * kRowVecs + u * kQuantVecs + i]; }

fn scale_word(row: u32, i: u32) -> u32 { return w[row * kRowVecs + kQuantVecs * kUnits + i / 4u][i % 4u]; }
