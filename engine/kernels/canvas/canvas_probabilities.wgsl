// canvas_probabilities — a tile of a step's probabilities, for the step after it: p[i, j] = softmax(logits[i] / t)[kFirst + j].
// logits: [rows, kVocabulary]; p: [all rows, kStride]. The rows are places kFirstRow … of the canvas; their largest logit and their sum
// are those that canvas_places left. grid: (kTile / 256, rows).
//# import lib/common, lib/canvas
override kVocabulary: u32;
override kFirst: u32 = 0u;
override kTile: u32;
override kStride: u32 = kTile;  // from row to row of p
override kFirstRow: u32 = 0u;

@group(0) @binding(0) var<storage, read> given: Given;
@group(0) @binding(1) var<storage, read> places: array<Place>;
@group(0) @binding(2) var<storage, read> logits: array<f32>;
@group(0) @binding(3) var<storage, read_write> p: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x >= kTile) { return; }
    let place = places[kFirstRow + id.y];
    let z = logits[id.y * kVocabulary + kFirst + id.x];
    p[(kFirstRow + id.y) * kStride + id.x] = exp((z - place.largest) / given.previous_temperature) / place.total;
}
