// canvas_settle — accepts the tokens that are surest, makes noise of the others, and finds out whether the canvas has settled.
// In the order of their entropies, of equals the one further to the front, a place is accepted while the entropies before it sum to
// entropy_bound at most. The canvas is settled when as many steps before as stability_threshold says had the same most likely tokens,
// and the mean entropy is below confidence_threshold.
// ids: [kLength], the canvas: what the next step looks at. report: 16 words about the step, then kLength each of the most likely
// tokens, which were accepted, what the step looked at, and entropies. One workgroup. grid: (1).
//# import lib/canvas
override kLength: u32;
const kThreads = 256u;
const kHead = 16u;

@group(0) @binding(0) var<storage, read> given: Given;
@group(0) @binding(1) var<storage, read> places: array<Place>;
@group(0) @binding(2) var<storage, read> tokens: array<Tokens>;
@group(0) @binding(3) var<storage, read_write> ids: array<u32>;
@group(0) @binding(4) var<storage, read_write> report: array<u32>;
var<workgroup> entropies: array<f32, kLength>;
var<workgroup> order: array<u32, kLength>;
var<workgroup> accepted: array<u32, kLength>;
var<workgroup> changes: array<u32, kThreads>;
var<workgroup> margins: array<vec2f, kThreads>;

fn put(i: u32, v: f32) { report[i] = bitcast<u32>(v); }

// What one thread does: few hundred additions, in their order.
fn accept() {
    var before = 0.0;
    var count = 0u;
    var margin = 3.0e38;
    for (var i = 0u; i < kLength; i++) {
        let at = order[i];
        margin = min(margin, abs(before - given.entropy_bound));
        accepted[at] = select(0u, 1u, before <= given.entropy_bound);
        count += accepted[at];
        before += entropies[at];
    }
    let mean = before / f32(kLength);
    var changed = 0u;
    var nearest = vec2f(3.0e38);
    for (var i = 0u; i < kThreads; i++) {
        changed += changes[i];
        nearest = min(nearest, margins[i]);
    }
    let unchanged = select(report[8] + 1u, 0u, given.first == 1u || changed > 0u);
    report[0] = select(0u, 1u, unchanged >= given.stability_threshold);
    report[1] = select(0u, 1u, mean < given.confidence_threshold);
    report[2] = count;
    put(3u, mean);
    put(4u, nearest.x);
    put(5u, nearest.y);
    put(6u, margin);
    put(7u, abs(mean - given.confidence_threshold));
    report[8] = unchanged;  // steps before this one with the same most likely tokens
}

@compute @workgroup_size(kThreads)
fn main(@builtin(local_invocation_index) t: u32) {
    var changed = 0u;
    var nearest = vec2f(3.0e38);
    for (var i = t; i < kLength; i += kThreads) {
        entropies[i] = places[i].entropy;
        if (report[kHead + i] != tokens[i].best) { changed++; }
        nearest = min(nearest, vec2f(places[i].best_margin, places[i].drawn_margin));
    }
    changes[t] = changed;
    margins[t] = nearest;
    workgroupBarrier();
    for (var i = t; i < kLength; i += kThreads) {
        let mine = entropies[i];
        var place = 0u;
        for (var j = 0u; j < kLength; j++) {
            if (entropies[j] < mine || (entropies[j] == mine && j < i)) { place++; }
        }
        order[place] = i;
    }
    workgroupBarrier();
    if (t == 0u) { accept(); }
    workgroupBarrier();
    for (var i = t; i < kLength; i += kThreads) {
        report[kHead + i] = tokens[i].best;
        report[kHead + kLength + i] = accepted[i];
        report[kHead + 2u * kLength + i] = ids[i];
        put(kHead + 3u * kLength + i, entropies[i]);
        ids[i] = select(given.numbers[kLength + i], tokens[i].drawn, accepted[i] == 1u);
    }
}
