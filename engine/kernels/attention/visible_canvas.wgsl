// The rows of a canvas that is being settled: each sees all of it and what comes before it, in a window what its first row sees.
//# needs step
const kSequences = 1u;
override kWindow: u32 = 0u;

fn position_of(row: u32) -> u32 { return step.position + row; }

fn seen(row: u32) -> vec2u {
    let first = select(0u, step.position - min(step.position, kWindow - 1u), kWindow > 0u);
    return vec2u(first, step.position + step.tokens);
}

// Where its sequence begins in the cache.
fn cache_first(row: u32) -> u32 { return 0u; }
