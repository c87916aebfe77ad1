// x is what the splits of an attention found, merged.
//# import lib/splits
override kHeadDim: u32;
override kWindow: u32 = 0u;
override kMaxSplits: u32;

@group(0) @binding(2) var<storage, read> stats: array<vec4f>;
@group(0) @binding(5) var<storage, read> step: Step;

fn prepare(t: u32, base: u32, stores: bool) {
    let splits = attention_splits(step.position + 1u, kWindow, kMaxSplits);
    for (var first = 0u; first < 8u * kQuantGroups_1; first += kThreads) {
        let e = first + t;
        var v = Vec8();
        if (8u * e < kCols) { v = merged(e, splits); }
        stage_vec8(e, t, v);
    }
    workgroupBarrier();
}
