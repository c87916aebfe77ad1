// gemv_persistent — y = W · x of a large matrix, x as limbs, by no more workgroups than the GPU holds at a time
//
// They go through the rows together: what is read at a time lies together, x is loaded once and stays in registers, the
// next rows are asked for while these are computed, and there is no last wave of workgroups that a half empty GPU waits for.
// A row group is kSpan threads, one for each quant group of a row. A very long row is divided into splits: split s leaves row s
// of y, and who reads y adds these rows up. A step is kRowsPerGroup rows a row group. What four neighbouring threads find stays
// in workgroup memory until the end.
// y: [kSplits, kOut]. kFinish 1: y = gelu(a) · b, where b is row r + kOut of the same W (gate, then up): even steps are
// gate's, odd ones up's of the same rows. kSpan: a multiple of 4. grid: kGroups · kSplits.
//# import lib/common, $reduce, $weights, gemv/x_limbs, gemv/dot_limbs_group, gemv/loaded, gemv/persistent_rows, $assignment
override kCols: u32;
override kOut: u32;
override kFinish: u32 = 0u;         // 0 or 1
override kRowsPerGroup: u32 = 2u;   // 2 or 4
override kSplits: u32 = 1u;
override kGroups: u32;              // workgroups, of each split
override kSteps: u32;               // of a workgroup, at most
override kSpan: u32 = kQuantGroups_1 / kSplits;
override kRowGroups: u32 = kThreads / kSpan;
const kThreads = 256u;

@group(0) @binding(0) var<storage, read> w: array<vec4u>;
@group(0) @binding(1) var<storage, read> x: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
override kPartialSums: u32 = kSteps * kThreads;
var<workgroup> partial_sums: array<f32, kPartialSums>;
override kResults: u32 = kSteps / (1u + kFinish) * kRowGroups * kRowsPerGroup;
// Threads that add up what was found of a row: as many as there are for each. One alone would be a long chain at the end.
override kAddersPerRow: u32 = select(select(select(1u, 2u, kResults <= 128u), 4u, kResults <= 64u), 8u, kResults <= 32u);

// Workgroup `place` of `groups` that go through rows [first, end) of y together, in so many steps. W has row r at r + shift.
struct Assignment { place: u32, groups: u32, first: u32, end: u32, shift: u32, steps: u32 }

// The first row of a row group's step.
fn row_at(assignment: Assignment, row_group: u32, step: u32) -> u32 {
    return assignment.first + ((step * assignment.groups + assignment.place) * kRowGroups + row_group) * kRowsPerGroup;
}

// Where W has them; beyond the end the last one again.
fn assignment_rows(assignment: Assignment, row_group: u32, step: u32) -> vec4u {
    let round = select(step, step / 2u, kFinish == 1u);
    let rows = min(row_at(assignment, row_group, round) + vec4u(0u, 1u, 2u, 3u), vec4u(assignment.end - 1u)) + assignment.shift;
    return rows + select(0u, kOut, kFinish == 1u && step % 2u == 1u);
}

// What was found of row r of a row group's step: a thread's part of it. How often the loop goes round is known when it is
// compiled, so that all loads are on their way at a time.
fn partial_sum(step: u32, row_group: u32, r: u32, lane: u32) -> f32 {
    let first = step * kThreads + row_group * kSpan + r;
    var sum = 0.0;
    for (var i = 0u; i < (kSpan / 4u + kAddersPerRow - 1u) / kAddersPerRow; i++) {
        let four = i * kAddersPerRow + lane;
        sum += select(0.0, partial_sums[first + 4u * four], 4u * four < kSpan);
    }
    return sum;
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let split = group.x % kSplits;
    let assignment = assignment_of(group.x / kSplits);
    let mine = min(t / kSpan, kRowGroups - 1u);
    run_assignment(assignment, mine, split * kSpan + min(t - mine * kSpan, kSpan - 1u), t);
    workgroupBarrier();
    let rounds = select(assignment.steps, assignment.steps / 2u, kFinish == 1u);
    let lane = t % kAddersPerRow;
    let results = rounds * kRowGroups * kRowsPerGroup;
    for (var first = 0u; first < results; first += kThreads / kAddersPerRow) {
        let i = first + t / kAddersPerRow;
        let r = i % kRowsPerGroup;
        let row_group = i / kRowsPerGroup % kRowGroups;
        let round = i / kRowsPerGroup / kRowGroups;
        var sums_of_two = vec4f();
        if (kFinish == 1u) {
            sums_of_two = vec4f(partial_sum(2u * round, row_group, r, lane), partial_sum(2u * round + 1u, row_group, r, lane), 0.0, 0.0);
        } else {
            sums_of_two.x = partial_sum(round, row_group, r, lane);
        }
        let sums = sum_rows(sums_of_two, t, kAddersPerRow, 1u + kFinish);
        let row = row_at(assignment, row_group, round) + r;
        if (lane == 0u && i < results && row < assignment.end) {
            y[split * kOut + row] = select(sums.x, gelu(sums.x) * sums.y, kFinish == 1u);
        }
    }
}
