// y as limbs, for the next product: a workgroup's outputs are collected, then eight neighbours are converted by a thread.
//# import lib/limbs, lib/limbs_store
override kStagedOutputs: u32 = kGroupOutputs;
var<workgroup> outs: array<f32, kStagedOutputs>;

fn store(slot: u32, row: u32, place: u32, v: f32) { outs[place] = v; }

fn put_word(i: u32, word: u32) { y[i] = word; }

// first: the workgroup's first output.
fn finish_workgroup(first: u32, t: u32) {
    workgroupBarrier();
    var v = Vec8();
    let i = 8u * t;
    if (i < kGroupOutputs) {
        v = Vec8(vec4f(outs[i], outs[i + 1u], outs[i + 2u], outs[i + 3u]),
                  vec4f(outs[i + 4u], outs[i + 5u], outs[i + 6u], outs[i + 7u]));
    }
    // Threads without outputs come along, and their eight is beyond the end.
    let e = select(kOut, first / 8u + t, i < kGroupOutputs);
    store_limbs_of_vec8(e, t, v, kOut / 64u);
}
