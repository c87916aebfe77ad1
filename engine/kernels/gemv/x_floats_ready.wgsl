// x as floats, read from where an earlier kernel left them.
//# import gemv/x_floats
//# needs x
fn x_at(u: u32, i: u32) -> vec4f {
    let run = select(4u * u + i / 4u, u + i / 4u * kQuantGroups_1, kApart_1);
    let at = 4u * run + i % 4u;
    // Rows need not fill their last quant group.
    return select(vec4f(), bitcast<vec4f>(x[at]), at < kCols / 4u);
}
