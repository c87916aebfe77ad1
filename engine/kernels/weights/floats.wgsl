// How weights in floating point lie on the GPU: as in the file, each row padded with zeros to quant groups of 64. The format's
// own file has kRunVecs_1, the vec4 a run of 16 takes, and how a run is read.
//# needs kCols
override kQuantGroups_1: u32 = (kCols + 63u) / 64u;
override kRowVecs_1: u32 = 4u * kRunVecs_1 * kQuantGroups_1;

// What a thread loads at once: not neighbouring runs, so that what neighbouring threads load is.
struct Weights_1 { r0: Vec16, r1: Vec16, r2: Vec16, r3: Vec16 }
const kApart_1 = true;

fn weights_1(row: u32, u: u32) -> Weights_1 {
    return Weights_1(vec16_values_1(row, u), vec16_values_1(row, u + kQuantGroups_1), vec16_values_1(row, u + 2u * kQuantGroups_1),
                   vec16_values_1(row, u + 3u * kQuantGroups_1));
}

// A run as it is loaded, and as floats.
alias Packed_1 = Vec16;
fn packed_1(row: u32, r: u32) -> Packed_1 { return vec16_values_1(row, r); }
fn unpacked_1(p: Packed_1) -> Vec16 { return p; }
