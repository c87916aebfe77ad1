// y as floats.
fn store(slot: u32, row: u32, place: u32, v: f32) { y[y_row(slot) + kYOffset + row] = bitcast<u32>(v); }

fn finish_workgroup(first: u32, t: u32) {}
