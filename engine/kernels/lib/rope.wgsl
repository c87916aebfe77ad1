// How far a pair of a head's elements is rotated at a position.

// position · frequency, without its whole part. A frequency, in revolutions, comes as f0 + f1 + f2, the first two with 12 significant bits:
// their products with either 12-bit half of the position are exact, so nothing is lost at position 100,000.
fn revolutions_at(position: u32, frequency: vec4f) -> f32 {
    let low = f32(position & 4095u);
    let high = f32(position >> 12u) * 4096.0;
    let exact = fract(low * frequency.x) + fract(high * frequency.x);
    return exact + (low * frequency.y + high * frequency.y) + f32(position) * frequency.z;
}
