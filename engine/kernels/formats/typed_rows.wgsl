// Rows of units (unit.wgsl) where kCols is part of the text: a type says how long they are, and most of what it takes to find
// a place in one, and to check that it is there, is done once for all rows. Fewer instructions count where a product is
// short; a long one got slower (docs/performance.md).
const kUnits = (kCols + 63u) / 64u;
const kWords = (kScaleWords * kUnits + kBlockWords * ((kUnits + 3u) / 4u) + 3u) / 4u * 4u;
struct Stored { quants: array<array<vec4u, kQuantVecs>, kUnits>, words: array<u32, kWords> }

fn quants(row: u32, u: u32, i: u32) -> vec4u { return w[row].quants[u][i]; }

fn scale_word(row: u32, i: u32) -> u32 { return w[row].words[i]; }
