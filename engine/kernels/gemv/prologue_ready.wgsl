// x is there, in the form that the product takes.
fn prepare(t: u32, base: u32, stores: bool) {}
