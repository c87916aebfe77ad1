// attention_decode — one token: Q, K and V normed and turned, K and V into the cache, then softmax(q · Kᵀ) · V in parts
//
// A workgroup takes kGroup query heads that share a key head, and a part of the keys: a key that was read serves both. Its
// eight teams of 32 threads take four keys each at a time: a thread holds its share of a row, so a key's score is a sum over
// the team, and nobody waits for another team before all keys are done. What counts is how many loads are on their way
// together, and how little there is to do after them: the first keys and values are asked for before the queries are
// ready. Each part leaves what it found (Σ p · v, the largest score, Σ p) for matvec.wgsl or attention_merge.wgsl.
// qkv: q, then k at kKOffset and v at kVOffset (the same as k's where values are the raw keys). norms: [2, kDim], q's, k's.
// caches: as kv/rows.wgsl has them. kDim: a multiple of 8, up to 512.
// parts: [heads, kMaxSplits, kDim]. stats: [heads, kMaxSplits] of (largest, sum).
// kWindow 0: all keys up to the token; else the last kWindow of them, the token's own included.
// kOwns 0: the layer uses another one's K and V. grid: (heads / kGroup, kMaxSplits).
override kHeads: u32;
override kKvHeads: u32;
override kDim: u32;
override kKOffset: u32 = 0u;
override kVOffset: u32 = 0u;
override kOwns: u32 = 0u;
override kRing: u32;
override kWindow: u32 = 0u;
override kEps: f32 = 1e-6;
override kGroup: u32 = 1u;  // 1 or 2
override kMaxSplits: u32 = 8u;
const kThreads = 256u;
const kTeams = kThreads / 32u;
const kTile = 4u * kTeams;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> qkv: array<vec4f>;
@group(0) @binding(2) var<storage, read> norms: array<vec4f>;
@group(0) @binding(3) var<storage, read> rates: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> k_cache: array<vec4u>;
@group(0) @binding(5) var<storage, read_write> v_cache: array<vec4u>;
@group(0) @binding(6) var<storage, read_write> parts: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> stats: array<vec2f>;
override kQueryVecs: u32 = kGroup * kDim / 4u;
override kKeyVecs: u32 = kDim / 4u;
var<workgroup> query: array<vec4f, kQueryVecs>;
var<workgroup> scales: array<f32, 4>;
var<workgroup> team_stats: array<vec4f, kTeams>;  // largest and sum of a head, then of the other
override kHeldVecs: u32 = 2u * kKeyVecs;
var<workgroup> held: array<vec4f, kHeldVecs>;
// vec4s of a cache row that a thread holds: every 32nd.
override kSlots: u32 = (kRowVecs + 31u) / 32u;

// A quarter of the threads for each of: two query heads, the token's own key, its own value. A thread norms and turns four
// pairs (element i and i + kDim / 2), so that a vec4 has one writer. Everything is loaded before anything is waited for.
const kRoleThreads = kThreads / 4u;
const kKeyRole = 2u;
const kValueRole = 3u;

fn prepare(first_head: u32, kv: u32, own_too: bool, t: u32) {
    let role = t / kRoleThreads;
    let i = 4u * (t % kRoleThreads);
    let live = i < kDim / 2u && (role < kGroup || (role >= kKeyRole && own_too));
    var a = vec4f();
    var b = vec4f();
    var norm_a = vec4f(1.0);
    var norm_b = vec4f(1.0);
    var cosine = vec4f(1.0);
    var sine = vec4f();
    if (live) {
        let own_base = select(kVOffset, kKOffset, role == kKeyRole) + kv * kDim;
        let at = (select(own_base, (first_head + role) * kDim, role < kKeyRole) + i) / 4u;
        a = qkv[at];
        b = qkv[at + kDim / 8u];
        if (role != kValueRole) {
            let norm = (select(0u, kDim, role == kKeyRole) + i) / 4u;
            norm_a = norms[norm];
            norm_b = norms[norm + kDim / 8u];
            let turn0 = cos_sin(turns_at(step.position, rates[i]));
            let turn1 = cos_sin(turns_at(step.position, rates[i + 1u]));
            let turn2 = cos_sin(turns_at(step.position, rates[i + 2u]));
            let turn3 = cos_sin(turns_at(step.position, rates[i + 3u]));
            cosine = vec4f(turn0.x, turn1.x, turn2.x, turn3.x);
            sine = vec4f(turn0.y, turn1.y, turn2.y, turn3.y);
        }
    }
    let sum = sum_lanes(vec4f(dot(a, a) + dot(b, b), 0.0, 0.0, 0.0), t, kRoleThreads).x;
    if (i == 0u) { scales[role] = 1.0 / sqrt(sum / f32(kDim) + kEps); }
    workgroupBarrier();
    a *= scales[role] * norm_a;
    b *= scales[role] * norm_b;
    let x = a * cosine - b * sine;
    let y = a * sine + b * cosine;
    if (live && role < kKeyRole) {
        query[(role * kDim + i) / 4u] = x;
        query[(role * kDim + i) / 4u + kDim / 8u] = y;
    }
    if (live && role >= kKeyRole) {
        let at = (role - kKeyRole) * kDim + i;
        for (var j = 0u; j < 4u; j++) {
            own[at + j] = x[j];
            own[at + kDim / 2u + j] = y[j];
        }
    }
    workgroupBarrier();
}

// The token's own key and value into the cache, each by half of the threads. Workgroups that share a key head write the
// same.
fn store_own(kv: u32, t: u32) {
    let lanes = kThreads / 2u;
    let lane = t % lanes;
    let is_key = t < lanes;
    find_peaks(t / lanes, lane, lanes);
    let row = cache_row(step.position, kv);
    for (var i = lane; i < kRowVecs; i += lanes) {
        let packed = own_vec(t / lanes, i);
        if (is_key) {
            k_cache[row * kRowVecs + i] = packed;
        } else {
            v_cache[row * kRowVecs + i] = packed;
        }
    }
    for (var i = lane; i < kScaleVecs; i += lanes) {
        let packed = own_scales(t / lanes * kSpans, i);
        if (is_key) {
            k_cache[scales_at(row) + i] = packed;
        } else {
            v_cache[scales_at(row) + i] = packed;
        }
    }
    storageBarrier();
    workgroupBarrier();
}

// A thread's share of a key or value: up to 16 elements, and the one scale they have.
struct Share { a: vec4u, b: vec4u, c: vec4u, d: vec4u, scale: vec4u }

// Where vec4 `slot` of the thread's share is in a row; beyond the end the last one, which counts nothing.
fn slot_at(slot: u32, lane: u32) -> u32 { return min(lane + 32u * slot, kRowVecs - 1u); }

fn key_share(key: u32, kv: u32, lane: u32) -> Share {
    let row = cache_row(key, kv);
    let at = row * kRowVecs;
    var out = Share();
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
fn value_share(key: u32, kv: u32, lane: u32) -> Share {
    let row = cache_row(key, kv);
    let at = row * kRowVecs;
    var out = Share();
    out.a = v_cache[at + slot_at(0u, lane)];
    if (kSlots > 1u) { out.b = v_cache[at + slot_at(1u, lane)]; }
    if (kSlots > 2u) {
        out.c = v_cache[at + slot_at(2u, lane)];
        out.d = v_cache[at + slot_at(3u, lane)];
    }
    if (kHasScales) { out.scale = v_cache[scales_at(row) + slot_at(0u, lane) / kVecsAScale]; }
    return out;
}

struct Four { s0: Share, s1: Share, s2: Share, s3: Share }

// Of the team's keys of a tile, every eighth one; beyond the end the last one.
fn four_keys(key: u32, last: u32, kv: u32, lane: u32) -> Four {
    return Four(key_share(min(key, last), kv, lane), key_share(min(key + kTeams, last), kv, lane),
                key_share(min(key + 2u * kTeams, last), kv, lane), key_share(min(key + 3u * kTeams, last), kv, lane));
}

fn four_values(key: u32, last: u32, kv: u32, lane: u32) -> Four {
    return Four(value_share(min(key, last), kv, lane), value_share(min(key + kTeams, last), kv, lane),
                value_share(min(key + 2u * kTeams, last), kv, lane),
                value_share(min(key + 3u * kTeams, last), kv, lane));
}

// The elements of a share, without their scale.
fn share_run(s: Share) -> Run {
    if (kPerWord == 1u) {
        return Run(bitcast<vec4f>(s.a), bitcast<vec4f>(s.b), bitcast<vec4f>(s.c), bitcast<vec4f>(s.d));
    }
    let a = kv_run(s.a);
    if (kPerWord == 4u) { return a; }
    if (kSlots == 1u) { return Run(a.v0, a.v1, vec4f(), vec4f()); }
    let b = kv_run(s.b);
    return Run(a.v0, a.v1, b.v0, b.v1);
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

fn query_run(head: u32, lane: u32) -> Run {
    return Run(query_vec(head, 0u, lane), query_vec(head, 1u, lane), query_vec(head, 2u, lane),
               query_vec(head, 3u, lane));
}

// What a team has found for a head. The sums over the keys, the thread's share of Σ p · v.
struct Found { largest: f32, sum: f32, v: Run }

fn weighted(a: vec4f, b: vec4f, c: vec4f, d: vec4f, p: vec4f) -> vec4f { return a * p.x + b * p.y + c * p.z + d * p.w; }

// With four more keys: their scores, which of them there are, their values (a to d) and the scales of these.
fn with_keys(f: Found, score: vec4f, live: vec4<bool>, a: Run, b: Run, c: Run, d: Run, scale: vec4f) -> Found {
    let s = select(vec4f(-3.0e38), score, live);
    let next = max(f.largest, max(max(s.x, s.y), max(s.z, s.w)));
    let fade = exp(f.largest - next);
    let p = select(vec4f(), exp(s - next), live);
    let q = p * scale;
    return Found(next, f.sum * fade + dot(p, vec4f(1.0)),
                 Run(f.v.v0 * fade + weighted(a.v0, b.v0, c.v0, d.v0, q),
                     f.v.v1 * fade + weighted(a.v1, b.v1, c.v1, d.v1, q),
                     f.v.v2 * fade + weighted(a.v2, b.v2, c.v2, d.v2, q),
                     f.v.v3 * fade + weighted(a.v3, b.v3, c.v3, d.v3, q)));
}

// Adds number n of the thread's vec4s to those of the teams before it; with `fresh` there were none.
fn hold(n: u32, slot: u32, lane: u32, fresh: bool, v: vec4f) {
    let at = element_vec(n, lane);
    if (n >= kSlots * kPerWord || at == kKeyVecs) { return; }
    held[slot * kKeyVecs + at] = select(held[slot * kKeyVecs + at], vec4f(), fresh) + v;
}

// One head's outputs: the teams added up, two at a time.
fn store_head(head: u32, split: u32, t: u32, v: Run) {
    let team = t / 32u;
    let lane = t % 32u;
    for (var round = 0u; round < kTeams / 2u; round++) {
        workgroupBarrier();
        if (team / 2u == round) {
            hold(0u, team % 2u, lane, round == 0u, v.v0);
            hold(1u, team % 2u, lane, round == 0u, v.v1);
            hold(2u, team % 2u, lane, round == 0u, v.v2);
            hold(3u, team % 2u, lane, round == 0u, v.v3);
        }
    }
    workgroupBarrier();
    if (t < kKeyVecs) { parts[(head * kMaxSplits + split) * kKeyVecs + t] = held[t] + held[kKeyVecs + t]; }
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let end = step.position + 1u;
    let splits = attention_splits(end, kWindow, kMaxSplits);
    if (group.y >= splits) { return; }
    let first_head = group.x * kGroup;
    let kv = first_head / (kHeads / kKvHeads);
    var begin = 0u;
    if (kWindow > 0u && end > kWindow) { begin = end - kWindow; }
    // This part's share of [begin, end).
    let share = (end - begin + splits - 1u) / splits;
    let first = min(begin + group.y * share, end);
    let last = min(first + share, end);
    let own_too = kOwns == 1u && last == end;

    let team = t / 32u;
    let lane = t % 32u;
    var keys = four_keys(first + team, last - 1u, kv, lane);
    var values = four_values(first + team, last - 1u, kv, lane);
    prepare(first_head, kv, own_too, t);
    if (own_too) { store_own(kv, t); }

    let query0 = query_run(0u, lane);
    let query1 = query_run(kGroup - 1u, lane);
    var found0 = Found(-3.0e38, 0.0, Run());
    var found1 = found0;
    for (var tile = first; tile < last; tile += kTile) {
        let key = tile + team;
        if (tile != first || own_too) {
            keys = four_keys(key, last - 1u, kv, lane);
            values = four_values(key, last - 1u, kv, lane);
        }
        let live = vec4u(key, key + kTeams, key + 2u * kTeams, key + 3u * kTeams) < vec4u(last);
        let k0 = share_run(keys.s0);
        let k1 = share_run(keys.s1);
        let k2 = share_run(keys.s2);
        let k3 = share_run(keys.s3);
        let scale = four_scales(keys, lane);
        let v0 = share_run(values.s0);
        let v1 = share_run(values.s1);
        let v2 = share_run(values.s2);
        let v3 = share_run(values.s3);
        let value_scale = four_scales(values, lane);
        let score0 = sum_team(
            vec4f(dot_runs(query0, k0), dot_runs(query0, k1), dot_runs(query0, k2), dot_runs(query0, k3)) * scale, t);
        found0 = with_keys(found0, score0, live, v0, v1, v2, v3, value_scale);
        if (kGroup > 1u) {
            let score1 = sum_team(
                vec4f(dot_runs(query1, k0), dot_runs(query1, k1), dot_runs(query1, k2), dot_runs(query1, k3)) * scale, t);
            found1 = with_keys(found1, score1, live, v0, v1, v2, v3, value_scale);
        }
    }
    if (lane == 0u) { team_stats[team] = vec4f(found0.largest, found0.sum, found1.largest, found1.sum); }
    workgroupBarrier();
    var largest = vec2f(-3.0e38);
    for (var i = 0u; i < kTeams; i++) { largest = max(largest, team_stats[i].xz); }
    store_head(first_head, group.y, t, scaled(found0.v, exp(found0.largest - largest.x)));
    if (kGroup > 1u) { store_head(first_head + 1u, group.y, t, scaled(found1.v, exp(found1.largest - largest.y))); }
    if (t >= kGroup) { return; }
    var sum = 0.0;
    for (var i = 0u; i < kTeams; i++) {
        let of_team = select(team_stats[i].xy, team_stats[i].zw, t == 1u);
        sum += of_team.y * exp(of_team.x - largest[t]);
    }
    stats[(first_head + t) * kMaxSplits + group.y] = vec2f(largest[t], sum);
}
