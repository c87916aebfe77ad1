// walk — y = W · x of a large matrix, x as planes, by no more workgroups than the GPU holds at a time
//
// They go through the rows together: what is read at a time lies together, x is loaded once and stays in registers, the
// next rows are asked for while these are computed, and there is no last wave of workgroups that a half empty GPU waits for.
// A seat is kSpan threads, one for each unit of a row; of a very long one, of a part of it: part p of y has its sums, and
// who reads y adds the parts up. A step is kRows rows a seat. What four neighbouring threads find stays in workgroup
// memory until the end.
// y: [kParts, kOut]. kFinish 1: y = gelu(a) · b, where b is row r + kOut of the same W (gate, then up): even steps are
// gate's, odd ones up's of the same rows. kSpan: a multiple of 4. grid: kGroups · kParts.
//# import common, $reduce, $weights, x_planes, x_planes_unit, loaded, walk_rows, $ways
override kCols: u32;
override kOut: u32;
override kFinish: u32 = 0u;         // 0 or 1
override kRows: u32 = 2u;           // 2 or 4
override kParts: u32 = 1u;
override kGroups: u32;              // workgroups, of each part
override kSteps: u32;               // of a workgroup, at most
override kSpan: u32 = kUnits_1 / kParts;
override kSeats: u32 = kThreads / kSpan;
const kThreads = 256u;

@group(0) @binding(0) var<storage, read> w: array<vec4u>;
@group(0) @binding(1) var<storage, read> x: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
override kFound: u32 = kSteps * kThreads;
var<workgroup> found: array<f32, kFound>;
override kResults: u32 = kSteps / (1u + kFinish) * kSeats * kRows;
// Threads that add up what was found of a row: as many as there are for each. One alone would be a long chain at the end.
override kAdders: u32 = select(select(select(1u, 2u, kResults <= 128u), 4u, kResults <= 64u), 8u, kResults <= 32u);

// Workgroup `place` of `groups` that go through rows [first, end) of y together, in so many steps. W has row r at r + shift.
struct Way { place: u32, groups: u32, first: u32, end: u32, shift: u32, steps: u32 }

// The first row of a seat's step.
fn row_at(way: Way, seat: u32, step: u32) -> u32 {
    return way.first + ((step * way.groups + way.place) * kSeats + seat) * kRows;
}

// Where W has them; beyond the end the last one again.
fn way_rows(way: Way, seat: u32, step: u32) -> vec4u {
    let turn = select(step, step / 2u, kFinish == 1u);
    let rows = min(row_at(way, seat, turn) + vec4u(0u, 1u, 2u, 3u), vec4u(way.end - 1u)) + way.shift;
    return rows + select(0u, kOut, kFinish == 1u && step % 2u == 1u);
}

// What was found of row r of a seat's step: a thread's share of it. How often the loop goes round is known when it is
// compiled, so that all loads are on their way at a time.
fn share(step: u32, seat: u32, r: u32, lane: u32) -> f32 {
    let first = step * kThreads + seat * kSpan + r;
    var sum = 0.0;
    for (var i = 0u; i < (kSpan / 4u + kAdders - 1u) / kAdders; i++) {
        let four = i * kAdders + lane;
        sum += select(0.0, found[first + 4u * four], 4u * four < kSpan);
    }
    return sum;
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let part = group.x % kParts;
    let way = way_of(group.x / kParts);
    let mine = min(t / kSpan, kSeats - 1u);
    go_way(way, mine, part * kSpan + min(t - mine * kSpan, kSpan - 1u), t);
    workgroupBarrier();
    let turns = select(way.steps, way.steps / 2u, kFinish == 1u);
    let lane = t % kAdders;
    let results = turns * kSeats * kRows;
    for (var first = 0u; first < results; first += kThreads / kAdders) {
        let i = first + t / kAdders;
        let r = i % kRows;
        let seat = i / kRows % kSeats;
        let turn = i / kRows / kSeats;
        var shares = vec4f();
        if (kFinish == 1u) {
            shares = vec4f(share(2u * turn, seat, r, lane), share(2u * turn + 1u, seat, r, lane), 0.0, 0.0);
        } else {
            shares.x = share(turn, seat, r, lane);
        }
        let sums = sum_rows(shares, t, kAdders, 1u + kFinish);
        let row = row_at(way, seat, turn) + r;
        if (lane == 0u && i < results && row < way.end) {
            y[part * kOut + row] = select(sums.x, gelu(sums.x) * sums.y, kFinish == 1u);
        }
    }
}
