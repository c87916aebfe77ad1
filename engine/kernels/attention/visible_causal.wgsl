// The rows of a block of tokens of one text: each sees the keys up to its own, or the last kWindow of them.
//# needs step
const kSequences = 1u;
override kWindow: u32 = 0u;

fn position_of(row: u32) -> u32 { return step.position + row; }

// The first key that a row sees, and the one behind its last.
fn seen(row: u32) -> vec2u {
    let end = position_of(row) + 1u;
    return vec2u(select(0u, end - min(end, kWindow), kWindow > 0u), end);
}

// Where its sequence begins in the cache.
fn cache_first(row: u32) -> u32 { return 0u; }
