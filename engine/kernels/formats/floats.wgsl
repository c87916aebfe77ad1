// How weights in floating point lie on the GPU: as in the file, each row padded with zeros to units of 64. The format's
// own file has kRunVecs, the vec4 a run of 16 takes, and how a run is read.
override kUnits: u32 = (kCols + 63u) / 64u;
override kRowVecs: u32 = 4u * kRunVecs * kUnits;

// What a thread loads at once: not neighbouring runs, so that what neighbouring threads load is.
struct Weights { r0: Run, r1: Run, r2: Run, r3: Run }
const kApart = true;

fn weights(row: u32, u: u32) -> Weights {
    return Weights(run_values(row, u), run_values(row, u + kUnits), run_values(row, u + 2u * kUnits),
                   run_values(row, u + 3u * kUnits));
}

// A run as it is loaded, and as floats.
alias Packed = Run;
fn packed(row: u32, r: u32) -> Packed { return run_values(row, r); }
fn unpacked(p: Packed) -> Run { return p; }
