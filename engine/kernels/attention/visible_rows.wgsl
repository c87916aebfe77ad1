// Rows that a table describes: (position, first key, end of keys, sequence). An image's rows see one another, rows of several
// texts lie in one block. Rows that one workgroup takes are of one sequence, and neither end of what they see goes back.
//# needs kRing
override kSequences: u32 = 1u;

@group(0) @binding(9) var<storage, read> rows: array<vec4u>;

fn position_of(row: u32) -> u32 { return rows[row].x; }

fn seen(row: u32) -> vec2u { return rows[row].yz; }

fn cache_first(row: u32) -> u32 { return rows[row].w * kRing; }
