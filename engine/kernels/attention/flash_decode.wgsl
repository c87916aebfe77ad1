// flash_decode — one token: Q, K and V normed and rotated, K and V into the cache, then softmax(q · Kᵀ) · V in parts
//
// A workgroup takes kHeadsPerGroup query heads that share a key head, and a part of the keys: a key that was read serves both. Its
// eight warps of 32 threads take four keys each at a time: a thread holds its share of a row, so a key's score is a sum over
// the warp, and nobody waits for another warp before all keys are done. What counts is how many loads are on their way
// together, and how little there is to do after them: the first keys and values are asked for before the queries are
// ready. Each part leaves what it found (Σ p · v, the largest score, Σ p) for gemv.wgsl or merge_splits.wgsl.
// qkv: q, then k at kKOffset and v at kVOffset (the same as k's where values are the raw keys). norms: [2, kHeadDim], q's, k's.
// caches: as rows.wgsl has them. kHeadDim: a multiple of 8, up to 512.
// parts: [heads, kMaxSplits, kHeadDim]. stats: [heads, kMaxSplits] of (largest, sum).
// kWindow 0: all keys up to the token; else the last kWindow of them, the token's own included.
// kNormsValues 0: values are stored as they are. kOwns 0: the layer uses another one's K and V. grid: (heads / kHeadsPerGroup, kMaxSplits).
//# import lib/common, $reduce, $kv, attention/visible_causal, kv/rows
override kHeads: u32;
override kKvHeads: u32;
override kHeadDim: u32;
override kKOffset: u32 = 0u;
override kVOffset: u32 = 0u;
override kOwns: u32 = 0u;
override kNormsValues: u32 = 1u;
override kRing: u32;
override kEps: f32 = 1e-6;
override kHeadsPerGroup: u32 = 1u;  // 1 or 2
override kMaxSplits: u32 = 8u;
override kStagedWarps: u32 = 2u;  // how many warps' outputs there is room for when they are added up: 2, 4 or 8
const kThreads = 256u;
const kWarps = kThreads / 32u;
const kTile = 4u * kWarps;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> qkv: array<vec2f>;
@group(0) @binding(2) var<storage, read> norms: array<vec2f>;
@group(0) @binding(3) var<storage, read> rope_table: array<vec2f>;  // (cos, sin) of each pair (rope_table.wgsl)
@group(0) @binding(4) var<storage, read_write> k_cache: array<vec4u>;
@group(0) @binding(5) var<storage, read_write> v_cache: array<vec4u>;
@group(0) @binding(6) var<storage, read_write> splits: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> stats: array<vec2f>;
override kQueryVecs: u32 = kHeadsPerGroup * kHeadDim / 4u;
override kKeyVecs: u32 = kHeadDim / 4u;
var<workgroup> query: array<vec4f, kQueryVecs>;
// Of each warp the largest score and the sum, of a head and of the other.
var<workgroup> stats_of_warps: array<vec2f, kWarps>;
var<workgroup> sums_of_warps: array<vec2f, kWarps>;
override kStagedVecs: u32 = kStagedWarps * kKeyVecs;
var<workgroup> staged: array<vec4f, kStagedVecs>;
// vec4s of a cache row that a thread holds: every 32nd.
override kSlots: u32 = (kRowVecs + 31u) / 32u;

// A quarter of the threads for each of: two query heads, the token's own key, its own value.
const kRoleThreads = kThreads / 4u;
const kRoleWarps = kRoleThreads / 32u;
const kKeyRole = 2u;
const kValueRole = 3u;

// Two neighbouring elements of a query, key or value, and two that are kHeadDim / 2 further on: those are turned together.
struct Pairs { a: vec2f, b: vec2f, norm_a: vec2f, norm_b: vec2f, turn0: vec2f, turn1: vec2f }

// A thread has those at 2 · lane and, where there are more than twice as many pairs as threads, kFurther behind them.
const kFurther = 2u * kRoleThreads;

fn pairs_at(i: u32, role: u32, first_head: u32, kv: u32) -> Pairs {
    var out = Pairs(vec2f(), vec2f(), vec2f(1.0), vec2f(1.0), vec2f(1.0, 0.0), vec2f(1.0, 0.0));
    if (i >= kHeadDim / 2u || select(role >= kHeadsPerGroup, kOwns == 0u, role >= kKeyRole)) { return out; }
    let own_base = select(kVOffset, kKOffset, role == kKeyRole) + kv * kHeadDim;
    let at = (select(own_base, (first_head + role) * kHeadDim, role < kKeyRole) + i) / 2u;
    out.a = qkv[at];
    out.b = qkv[at + kHeadDim / 4u];
    if (role != kValueRole) {  // values are neither scaled nor turned
        let norm = (select(0u, kHeadDim, role == kKeyRole) + i) / 2u;
        out.norm_a = norms[norm];
        out.norm_b = norms[norm + kHeadDim / 4u];
        out.turn0 = rope_table[i];
        out.turn1 = rope_table[i + 1u];
    }
    return out;
}

fn squares(p: Pairs) -> f32 { return dot(p.a, p.a) + dot(p.b, p.b); }

// The largest square that an element of theirs can have once they are scaled and turned: two that are turned together keep
// the length they have together.
fn max_square(p: Pairs, role: u32) -> f32 {
    let a = p.a * p.norm_a;
    let b = p.b * p.norm_b;
    let most = select(a * a + b * b, max(a * a, b * b), role == kValueRole);
    return max(most.x, most.y);
}

// Where query and `own` keep pairs at i, normed and turned.
fn keep_pairs(p: Pairs, i: u32, role: u32, inverse: f32) {
    if (i >= kHeadDim / 2u) { return; }
    let a = p.a * inverse * p.norm_a;
    let b = p.b * inverse * p.norm_b;
    let cosine = vec2f(p.turn0.x, p.turn1.x);
    let sine = vec2f(p.turn0.y, p.turn1.y);
    let x = a * cosine - b * sine;
    let y = a * sine + b * cosine;
    let near = (role % 2u) * kHeadDim + i;
    let far = near + kHeadDim / 2u;
    if (role < kHeadsPerGroup) {
        query[near / 4u][near % 4u] = x.x;
        query[near / 4u][near % 4u + 1u] = x.y;
        query[far / 4u][far % 4u] = y.x;
        query[far / 4u][far % 4u + 1u] = y.y;
    }
    if (role >= kKeyRole) {
        own[near] = x.x;
        own[near + 1u] = x.y;
        own[far] = y.x;
        own[far + 1u] = y.y;
    }
}

// A thread's share of a key or value: up to 16 elements, and the one scale they have.
struct Chunk { a: vec4u, b: vec4u, c: vec4u, d: vec4u, scale: vec4u }

// Where vec4 `slot` of the thread's share is in a row; beyond the end the last one, which counts nothing.
fn slot_at(slot: u32, lane: u32) -> u32 { return min(lane + 32u * slot, kRowVecs - 1u); }

fn key_share(row: u32, lane: u32) -> Chunk {
    let at = row * kRowVecs;
    var out = Chunk();
    out.a = k_cache[at + slot_at(0u, lane)];
    if (kSlots > 1u) { out.b = k_cache[at + slot_at(1u, lane)]; }
    if (kSlots > 2u) {
        out.c = k_cache[at + slot_at(2u, lane)];
        out.d = k_cache[at + slot_at(3u, lane)];
    }
    if (kHasScales) { out.scale = k_cache[scales_at(row) + slot_at(0u, lane) / kVecsAScale]; }
    return out;
}

// The same of the other cache: WGSL does not pass them to functions.
fn value_share(row: u32, lane: u32) -> Chunk {
    let at = row * kRowVecs;
    var out = Chunk();
    out.a = v_cache[at + slot_at(0u, lane)];
    if (kSlots > 1u) { out.b = v_cache[at + slot_at(1u, lane)]; }
    if (kSlots > 2u) {
        out.c = v_cache[at + slot_at(2u, lane)];
        out.d = v_cache[at + slot_at(3u, lane)];
    }
    if (kHasScales) { out.scale = v_cache[scales_at(row) + slot_at(0u, lane) / kVecsAScale]; }
    return out;
}

// The same of the token's own key (row 0 of `own`) or value (row 1), as the cache will have it.
fn own_chunk(row: u32, lane: u32) -> Chunk {
    var out = Chunk();
    out.a = own_vec(row, slot_at(0u, lane));
    if (kSlots > 1u) { out.b = own_vec(row, slot_at(1u, lane)); }
    if (kSlots > 2u) {
        out.c = own_vec(row, slot_at(2u, lane));
        out.d = own_vec(row, slot_at(3u, lane));
    }
    if (kHasScales) { out.scale = own_scales(row * kSpans, slot_at(0u, lane) / kVecsAScale); }
    return out;
}

fn store_key(row: u32, lane: u32, chunk: Chunk) {
    let at = row * kRowVecs;
    k_cache[at + slot_at(0u, lane)] = chunk.a;
    if (kSlots > 1u) { k_cache[at + slot_at(1u, lane)] = chunk.b; }
    if (kSlots > 2u) {
        k_cache[at + slot_at(2u, lane)] = chunk.c;
        k_cache[at + slot_at(3u, lane)] = chunk.d;
    }
    if (kHasScales) { k_cache[scales_at(row) + slot_at(0u, lane) / kVecsAScale] = chunk.scale; }
}

fn store_value(row: u32, lane: u32, chunk: Chunk) {
    let at = row * kRowVecs;
    v_cache[at + slot_at(0u, lane)] = chunk.a;
    if (kSlots > 1u) { v_cache[at + slot_at(1u, lane)] = chunk.b; }
    if (kSlots > 2u) {
        v_cache[at + slot_at(2u, lane)] = chunk.c;
        v_cache[at + slot_at(3u, lane)] = chunk.d;
    }
    if (kHasScales) { v_cache[scales_at(row) + slot_at(0u, lane) / kVecsAScale] = chunk.scale; }
}

struct Four { s0: Chunk, s1: Chunk, s2: Chunk, s3: Chunk }

// The rows of a warp's keys of a tile, every eighth one; beyond the end the last one.
fn tile_rows(tile: u32, last: u32, kv: u32, warp: u32) -> vec4u {
    let place = tile % kRing + min(vec4u(warp, warp + kWarps, warp + 2u * kWarps, warp + 3u * kWarps), vec4u(last - tile));
    return select(place, place - kRing, place >= vec4u(kRing)) * kKvHeads + kv;
}

fn four_keys(rows: vec4u, lane: u32) -> Four {
    return Four(key_share(rows.x, lane), key_share(rows.y, lane), key_share(rows.z, lane), key_share(rows.w, lane));
}

// With another one in place of number n.
fn replaced(four: Four, n: u32, chunk: Chunk) -> Four {
    var out = four;
    if (n == 0u) { out.s0 = chunk; }
    if (n == 1u) { out.s1 = chunk; }
    if (n == 2u) { out.s2 = chunk; }
    if (n == 3u) { out.s3 = chunk; }
    return out;
}

fn four_values(rows: vec4u, lane: u32) -> Four {
    return Four(value_share(rows.x, lane), value_share(rows.y, lane), value_share(rows.z, lane),
                value_share(rows.w, lane));
}

// The elements of a share, without their scale.
fn share_run(s: Chunk) -> Vec16 {
    if (kPerWord == 1u) {
        return Vec16(bitcast<vec4f>(s.a), bitcast<vec4f>(s.b), bitcast<vec4f>(s.c), bitcast<vec4f>(s.d));
    }
    let a = kv_vec16(s.a);
    if (kPerWord == 4u) { return a; }
    if (kSlots == 1u) { return Vec16(a.v0, a.v1, vec4f(), vec4f()); }
    let b = kv_vec16(s.b);
    return Vec16(a.v0, a.v1, b.v0, b.v1);
}

fn four_scales(f: Four, lane: u32) -> vec4f {
    return vec4f(kv_scale(f.s0.scale, lane), kv_scale(f.s1.scale, lane), kv_scale(f.s2.scale, lane),
                 kv_scale(f.s3.scale, lane));
}

// Which vec4 of a head's elements is number n of the thread's; kKeyVecs where there is none.
fn element_vec(n: u32, lane: u32) -> u32 {
    let i = lane + 32u * (n / kPerWord);
    return select(kKeyVecs, i * kPerWord + n % kPerWord, i < kRowVecs);
}

fn query_vec(head: u32, n: u32, lane: u32) -> vec4f {
    let at = element_vec(n, lane);
    if (n >= kSlots * kPerWord || at == kKeyVecs) { return vec4f(); }
    return query[head * kKeyVecs + at];
}

fn query_vec16(head: u32, lane: u32) -> Vec16 {
    return Vec16(query_vec(head, 0u, lane), query_vec(head, 1u, lane), query_vec(head, 2u, lane),
               query_vec(head, 3u, lane));
}

// What a warp has found for a head. The sums over the keys, the thread's share of Σ p · v.
struct Found { running_max: f32, sum: f32, v: Vec16 }

// This thread's share of the scores of four keys.
fn scores(keys: Four, query: Vec16, lane: u32) -> vec4f {
    return four_scales(keys, lane) * vec4f(dot_vec16(query, share_run(keys.s0)), dot_vec16(query, share_run(keys.s1)),
                                           dot_vec16(query, share_run(keys.s2)), dot_vec16(query, share_run(keys.s3)));
}

// What four more keys weigh (those that there are), and what everything before them loses.
struct Weighed { running_max: f32, rescale: f32, p: vec4f }

fn weights_of(f: Found, score: vec4f, live: vec4<bool>) -> Weighed {
    let s = select(vec4f(-3.0e38), score, live);
    let next = max(f.running_max, max(max(s.x, s.y), max(s.z, s.w)));
    return Weighed(next, exp(f.running_max - next), select(vec4f(), exp(s - next), live));
}

fn with_values(f: Found, w: Weighed, values: Four, lane: u32) -> Found {
    let q = w.p * four_scales(values, lane);
    var v = scaled(f.v, w.rescale);
    v = plus(v, scaled(share_run(values.s0), q.x));
    v = plus(v, scaled(share_run(values.s1), q.y));
    v = plus(v, scaled(share_run(values.s2), q.z));
    v = plus(v, scaled(share_run(values.s3), q.w));
    return Found(w.running_max, f.sum * w.rescale + dot(w.p, vec4f(1.0)), v);
}

// Adds number n of the thread's vec4s to those of the warps before it; with `fresh` there were none.
fn hold(n: u32, slot: u32, lane: u32, fresh: bool, v: vec4f) {
    let at = element_vec(n, lane);
    if (n >= kSlots * kPerWord || at == kKeyVecs) { return; }
    staged[slot * kKeyVecs + at] = select(staged[slot * kKeyVecs + at], vec4f(), fresh) + v;
}

// One head's outputs: the warps added up, as many at a time as there is room for.
fn store_head(head: u32, split: u32, t: u32, v: Vec16) {
    let warp = t / 32u;
    let lane = t % 32u;
    for (var round = 0u; round < kWarps / kStagedWarps; round++) {
        workgroupBarrier();
        if (warp / kStagedWarps == round) {
            hold(0u, warp % kStagedWarps, lane, round == 0u, v.v0);
            hold(1u, warp % kStagedWarps, lane, round == 0u, v.v1);
            hold(2u, warp % kStagedWarps, lane, round == 0u, v.v2);
            hold(3u, warp % kStagedWarps, lane, round == 0u, v.v3);
        }
    }
    workgroupBarrier();
    if (t >= kKeyVecs) { return; }
    var sum = staged[t];
    for (var i = 1u; i < kStagedWarps; i++) { sum += staged[i * kKeyVecs + t]; }
    splits[(head * kMaxSplits + split) * kKeyVecs + t] = sum;
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let first_head = group.x * kHeadsPerGroup;
    let kv = first_head / (kHeads / kKvHeads);
    // What does not depend on where we are in the text is on its way before we know that.
    let role = t / kRoleThreads;
    let pair = 2u * (t % kRoleThreads);
    let near = pairs_at(pair, role, first_head, kv);
    var further = Pairs();
    if (kHeadDim > 2u * kFurther) { further = pairs_at(pair + kFurther, role, first_head, kv); }
    let end = step.position + 1u;
    let split_count = attention_splits(end, kWindow, kMaxSplits);
    if (group.y >= split_count) { return; }
    var begin = 0u;
    if (kWindow > 0u && end > kWindow) { begin = end - kWindow; }
    // This part's share of [begin, end): what attention_splits has in mind, or more where there is no room for so many parts.
    // Everybody waits for it, and dividing by a number that the compiler does not know takes 0.3 µs on an H200.
    let chunk = max(keys_of_a_split(kWindow), (end - begin + kMaxSplits - 1u) / kMaxSplits);
    let first = min(begin + group.y * chunk, end);
    let last = min(first + chunk, end);
    let own_too = kOwns == 1u && last == end;

    let warp = t / 32u;
    let lane = t % 32u;
    var query0 = Vec16();
    var query1 = Vec16();
    var found0 = Found(-3.0e38, 0.0, Vec16());
    var found1 = found0;
    var ready = false;
    var tile = first;
    while (tile < last) {
        // The first keys and values are on their way while the queries are prepared. There is one place in the code where
        // they are loaded: it is long.
        let rows = tile_rows(tile, last - 1u, kv, warp);
        var keys = four_keys(rows, lane);
        var values = four_values(rows, lane);
        if (!ready) {
            ready = true;
            var running_max = 0.0;
            if (kRowScale && own_too) {
                running_max = max_warp(max(max_square(near, role), max_square(further, role)), t);
            }
            let sum = sum_warps(squares(near) + squares(further), t, kRoleWarps);
            let norms = kNormsValues == 1u || role != kValueRole;
            let inverse = select(1.0, inverseSqrt(sum / f32(kHeadDim) + kEps), norms);
            if (kRowScale && own_too && role >= kKeyRole && lane == 0u) {
                absmax[(role - kKeyRole) * kSpans][warp % kRoleWarps] = sqrt(running_max) * inverse;
            }
            keep_pairs(near, pair, role, inverse);
            if (kHeadDim > 2u * kFurther) { keep_pairs(further, pair + kFurther, role, inverse); }
            workgroupBarrier();
            query0 = query_vec16(0u, lane);
            query1 = query_vec16(kHeadsPerGroup - 1u, lane);
        }
        // The token's own key and value go into the cache, but are not read from there again. Workgroups that share a key
        // head store the same.
        let own_key = end - 1u - tile;
        if (own_too && own_key < kTile) {
            if (!kRowScale) { find_absmax(t / (kThreads / 2u), t % (kThreads / 2u), kThreads / 2u); }
            if (warp == own_key % kWarps) {
                let own_row = cache_row(0u, step.position, kv);
                let own_k = own_chunk(0u, lane);
                let own_v = own_chunk(1u, lane);
                store_key(own_row, lane, own_k);
                store_value(own_row, lane, own_v);
                keys = replaced(keys, own_key / kWarps, own_k);
                values = replaced(values, own_key / kWarps, own_v);
            }
        }
        let key = tile + warp;
        let live = vec4u(key, key + kWarps, key + 2u * kWarps, key + 3u * kWarps) < vec4u(last);
        let score0 = sum_warp(scores(keys, query0, lane), t);
        let weights0 = weights_of(found0, score0, live);
        found0 = with_values(found0, weights0, values, lane);
        if (kHeadsPerGroup > 1u) {
            let score1 = sum_warp(scores(keys, query1, lane), t);
            found1 = with_values(found1, weights_of(found1, score1, live), values, lane);
        }
        tile += kTile;
    }
    if (lane == 0u) { stats_of_warps[warp] = vec2f(found0.running_max, found1.running_max); }
    workgroupBarrier();
    var running_max = vec2f(-3.0e38);
    for (var i = 0u; i < kWarps; i++) { running_max = max(running_max, stats_of_warps[i]); }
    let rescale = exp(vec2f(found0.running_max, found1.running_max) - running_max);
    if (lane == 0u) { sums_of_warps[warp] = vec2f(found0.sum, found1.sum) * rescale; }
    store_head(first_head, group.y, t, scaled(found0.v, rescale.x));
    if (kHeadsPerGroup > 1u) { store_head(first_head + 1u, group.y, t, scaled(found1.v, rescale.y)); }
    if (t >= kHeadsPerGroup) { return; }
    var sum = 0.0;
    for (var i = 0u; i < kWarps; i++) { sum += sums_of_warps[i][t]; }
    stats[(first_head + t) * kMaxSplits + group.y] = vec2f(running_max[t], sum);
}
