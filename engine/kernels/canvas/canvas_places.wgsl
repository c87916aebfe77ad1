// canvas_places — what the logits of each place of a canvas say: the most likely token, one that is drawn, how certain that is.
// p = softmax(logits / t); the token drawn is the first for which p_0 + … + p_k is above the place's number.
// logits: [rows, kVocabulary], of places kFirstRow … One workgroup a place; a thread sums a run of neighbouring tokens, so that the
// sums keep the tokens' order. grid: (rows).
//# import lib/common, $reduce, lib/canvas
override kVocabulary: u32;
override kFirstRow: u32 = 0u;
const kThreads = 256u;
override kRun: u32 = (kVocabulary + 255u) / 256u;  // tokens of a thread

@group(0) @binding(0) var<storage, read> given: Given;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> places: array<Place>;
@group(0) @binding(3) var<storage, read_write> tokens: array<Tokens>;
var<workgroup> runs: array<f32, 257>;  // sums before each thread's run

const kNothing = -3.4e38;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let row = group.x * kVocabulary;
    let place = kFirstRow + group.x;
    // The largest two of a thread's, and where the first of them is.
    var largest = kNothing;
    var second = kNothing;
    var best = 0u;
    for (var i = t; i < kVocabulary; i += kThreads) {
        let z = logits[row + i];
        if (z > largest) {
            second = largest;
            largest = z;
            best = i;
        } else {
            second = max(second, z);
        }
    }
    let most = max_workgroup(largest, t, kThreads);
    // Ids are exact as floats.
    let first = u32(-max_workgroup(select(kNothing, -f32(best), largest == most), t, kThreads));
    let other = max_workgroup(select(largest, second, best == first), t, kThreads);

    let begin = min(t * kRun, kVocabulary);
    let end = min(begin + kRun, kVocabulary);
    var sum = 0.0;
    var weighted = 0.0;
    for (var i = begin; i < end; i++) {
        let below = (logits[row + i] - most) / given.temperature;
        let e = exp(below);
        sum += e;
        weighted += e * below;
    }
    let all = sum_workgroup(weighted, t, kThreads);
    workgroupBarrier();
    runs[t + 1u] = sum;
    workgroupBarrier();
    if (t == 0u) {
        var before = 0.0;
        for (var i = 0u; i < kThreads; i++) {
            runs[i] = before;
            before += runs[i + 1u];
        }
        runs[kThreads] = before;
    }
    workgroupBarrier();
    let total = runs[kThreads];
    let wanted = bitcast<f32>(given.numbers[place]) * total;
    if (t == 0u) {
        tokens[place].best = first;
        places[place].largest = most;
        places[place].total = total;
        places[place].entropy = max(log(total) - all / total, 0.0);
        places[place].best_margin = most - other;
        if (wanted >= total) {
            tokens[place].drawn = kVocabulary - 1u;
            places[place].drawn_margin = 0.0;
        }
    }
    var reached = runs[t];
    if (wanted < reached || wanted >= runs[t + 1u] || begin == end) { return; }
    // Whoever's run the number lies in.
    var drawn = end - 1u;
    var before = reached;
    for (var i = begin; i < end; i++) {
        before = reached;
        reached += exp((logits[row + i] - most) / given.temperature);
        if (reached > wanted) {
            drawn = i;
            break;
        }
    }
    tokens[place].drawn = drawn;
    places[place].drawn_margin = min(wanted - before, reached - wanted) / total;
}
