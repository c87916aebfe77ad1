// x as limbs, read from where an earlier kernel left them.
//# import gemv/x_limbs
fn activations(u: u32) -> Activations { return ready_activations(u); }
