// gemv — y[r] = epilogue(Σ_i W[r, i] · x[i]), and before it whatever makes x
//
// A group of kThreadsPerRow threads computes kRowsPerGroup rows together: each thread takes every kThreadsPerRow-th quant
// group of 64 weights, and the x it has loaded serves all of them. kThreads / kThreadsPerRow such groups make a workgroup.
// Every workgroup needs all of x, so every workgroup can make it: that costs less than another dispatch (2 µs on an H200),
// and with kPrefetch 1 the first weights are on their way meanwhile.
//   $prologue   how x is made: it is there (ready, floats), a norm of the residual stream, or attention's splits merged
//   $x          where a product finds it: in the buffer, or staged in workgroup memory, as floats or as limbs
//   $epilogue   what is done with a result; with a gate, of a group's two rows one is gate's, the other up's
//   $store      y as floats, or as limbs for the next product; a workgroup's outputs are a multiple of 32 then
//   $rows       one matrix, or a stack of them of which each slot has its own expert
//   $formats    some of the last rows may be in another format than the first
// grid: (outputs / (groups · kOutputs), tokens, slots).
//# import lib/common, $reduce, $weights, $x, $dot, gemv/loaded, gemv/row_dots, $formats, $prologue, $epilogue, $store, $rows
override kCols: u32;
override kOut: u32 = 0xFFFFFFFFu;  // rows of y; where nothing else needs it, as many as the grid has
override kYOffset: u32 = 0u;
override kThreads: u32 = 128u;
override kThreadsPerRow: u32 = 8u;
override kRowsPerGroup: u32 = 2u;  // of W: 1, 2 or 4
override kPrefetch: u32 = 0u;      // 1: the first weights are loaded before x is made
override kOutputs: u32 = select(kRowsPerGroup, kRowsPerGroup / 2u, kGate);  // of y, a group's
override kGroupOutputs: u32 = kThreads / kThreadsPerRow * kOutputs;         // a workgroup's
override kRounds: u32 = (kQuantGroups_1 + kThreadsPerRow - 1u) / kThreadsPerRow;

@group(0) @binding(0) var<storage, read> w: array<vec4u>;
@group(0) @binding(1) var<storage, read> x: array<vec4u>;
@group(0) @binding(7) var<storage, read_write> y: array<u32>;

// The matrix rows of a group whose first output is `first`; beyond the end the last one again.
fn w_rows(first: u32) -> vec4u {
    if (kGate) {
        let gates = min(vec2u(first, first + 1u), vec2u(kOut - 1u));
        return select(vec4u(gates.x, gates.x + kOut, 0u, 0u), vec4u(gates, gates + kOut), kRowsPerGroup == 4u);
    }
    return min(vec4u(first, first + 1u, first + 2u, first + 3u), vec4u(kOut - 1u));
}

// `b`: what the epilogue needs besides a.
fn finish(slot: u32, row: u32, place: u32, a: f32, b: f32) {
    if (row >= kOut) { return; }
    store(slot, row, place, epilogue(a, b));
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let token = group.y;
    if (is_beyond(token)) { return; }
    let lane = t % kThreadsPerRow;
    let place = t / kThreadsPerRow * kOutputs;
    let first = group.x * kGroupOutputs + place;
    let slot = first_slot(token) + group.z;
    let base = base_row(slot);
    let rows = w_rows(first) + base;
    var ahead: Ahead;
    if (kPrefetch == 1u) { ahead = loaded_ahead(rows, min(lane, kQuantGroups_1 - 1u)); }
    var others = vec4f();  // asked for now: at the end everybody would wait for them
    if (kTimes) {
        for (var i = 0u; i < kOutputs; i++) { others[i] = factor(factors_of(token) + rows[i]); }
    }
    prepare(t, x_row(token, slot) * (kCols / 4u), group.x == 0u && group.z == 0u);
    let sum = sum_rows(all_dots(rows, lane, ahead), t, kThreadsPerRow, kRowsPerGroup);
    if (lane == 0u) {
        for (var i = 0u; i < kOutputs; i++) {
            var other = others[i];
            if (kGate) { other = sum[i + kOutputs]; }
            finish(slot, first + i, place + i, sum[i], other);
        }
    }
    finish_workgroup(group.x * kGroupOutputs, t);
}
