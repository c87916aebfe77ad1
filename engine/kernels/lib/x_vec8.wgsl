// Eight neighbouring floats of x, which the kernel has as words.
//# needs x
fn x_vec8(i: u32) -> Vec8 { return Vec8(bitcast<vec4f>(x[i]), bitcast<vec4f>(x[i + 1u])); }
