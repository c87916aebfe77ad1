// position · turns, without its whole part. A turn rate comes as t0 + t1 + t2, the first two with 12 significant bits:
// their products with either 12-bit half of the position are exact, so nothing is lost at position 100,000.
fn turns_at(position: u32, rate: vec4f) -> f32 {
    let low = f32(position & 4095u);
    let high = f32(position >> 12u) * 4096.0;
    let exact = fract(low * rate.x) + fract(high * rate.x);
    return exact + (low * rate.y + high * rate.y) + f32(position) * rate.z;
}
