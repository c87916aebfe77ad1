// The kernels as a WebAssembly module of its own: no library, no statics, memory from outside. Several instances may share a
// memory; the first one runs programs, the others help. Also compiled natively for nothing: only WebAssembly has a use for it.
#ifdef LAPIDARY_CPU_MODULE
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/product.h"
#include "cpu/packed.h"

#define LAPIDARY_EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace lapidary::cpu {
namespace {

// What instances tell each other, at the beginning of the memory. An op is done in shares of its items. `ticket` has a number
// that grows with every op, and in its lower half how many shares nobody has taken yet: who takes one has the right to look at
// the rest, and the op is over when all are done. So nobody waits for a thread that the system has put aside before it took
// anything.
struct Job {
    uint64_t ticket;    // (number of the op) << 32 | shares left
    uint32_t sleepers;  // threads that have to be woken
    uint32_t done;      // shares
    uint32_t waits;     // the first thread sleeps until `done` changes
    uint32_t failed;    // a thread has ended
    uint32_t stops;
    Address step, op;
    uint32_t items, shares;
};

constexpr Address kJob = 1024;
// Rounds of looking before a thread sleeps: some 50 µs.
constexpr int kSpins = 20000;
// An op of less work than this is done before another thread has noticed it.
constexpr uint64_t kSmall = 60000;
// Nobody works on a share for so long: who does not come back has ended.
constexpr int64_t kLost = 20'000'000'000;

Job& job() {
    return *reinterpret_cast<Job*>(kJob);
}
template <class T>
T get(T& v) {
    return __atomic_load_n(&v, __ATOMIC_SEQ_CST);
}

void run_share(Job& j, uint32_t share) {
    const Part part{uint32_t(uint64_t{j.items} * share / j.shares),
                    uint32_t(uint64_t{j.items} * (share + 1) / j.shares)};
    run_part(Memory{}, *reinterpret_cast<const Op*>(j.op), *reinterpret_cast<const Step*>(j.step), part);
    __atomic_fetch_add(&j.done, 1, __ATOMIC_SEQ_CST);
    if (get(j.waits) != 0) __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&j.done), 1);
}

// Takes shares until there are none left.
void take_shares(Job& j) {
    uint64_t ticket = get(j.ticket);
    while (uint32_t(ticket) != 0) {
        if (!__atomic_compare_exchange_n(&j.ticket, &ticket, ticket - 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            continue;
        }
        run_share(j, j.shares - uint32_t(ticket));
        ticket = get(j.ticket);
    }
}

// Until all shares are done; false when somebody who has one does not come back.
bool wait_for_shares(Job& j) {
    for (int spins = 0; spins < kSpins; ++spins) {
        if (get(j.done) == j.shares) return true;
    }
    __atomic_store_n(&j.waits, 1, __ATOMIC_SEQ_CST);
    bool ok = true;
    for (uint32_t done = get(j.done); done != j.shares && ok; done = get(j.done)) {
        const int woken = __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&j.done), int(done), kLost);
        ok = get(j.failed) == 0 && woken != 2;
    }
    __atomic_store_n(&j.waits, 0, __ATOMIC_SEQ_CST);
    return ok;
}

bool run_together(const Op& op, const Step& step, uint32_t items, uint32_t threads) {
    Job& j = job();
    // Several shares a thread: not all are equally fast, and not all come at once.
    const uint32_t wanted = 4 * threads;
    j.step = Address(reinterpret_cast<uintptr_t>(&step));
    j.op = Address(reinterpret_cast<uintptr_t>(&op));
    j.items = items;
    j.shares = items < wanted ? items : wanted;
    __atomic_store_n(&j.done, 0, __ATOMIC_SEQ_CST);
    const uint64_t number = (j.ticket >> 32) + 1;
    __atomic_store_n(&j.ticket, number << 32 | j.shares, __ATOMIC_SEQ_CST);
    if (get(j.sleepers) != 0) __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&j.ticket) + 1, threads);
    take_shares(j);
    return wait_for_shares(j);
}

}  // namespace

// Ops one after the other. → 0, or 1 when a thread has ended in the middle
LAPIDARY_EXPORT(run) int run(Address step, Address ops, uint32_t count, uint32_t threads) {
    for (uint32_t i = 0; i < count; ++i) {
        const Op& op = Memory{}.at<const Op>(ops)[i];
        const Step& at = *Memory{}.at<const Step>(step);
        const uint32_t items = items_of(op, at);
        if (threads < 2 || items < 2 || (op.kind != Kind::pack && uint64_t{op.work} * at.count < kSmall)) {
            run_part(Memory{}, op, at, {0, items});
        } else if (!run_together(op, at, items, threads)) {
            return 1;
        }
    }
    return 0;
}

// For the other threads, again and again: waits for an op and helps with it. → 0 when it is time to end. The loop is the host's,
// because an engine cannot put better code in the place of a function that never returns.
LAPIDARY_EXPORT(help) int help() {
    Job& j = job();
    const uint64_t seen = get(j.ticket);
    if (uint32_t(seen) == 0) {
        int spins = 0;
        while (get(j.ticket) == seen && spins < kSpins) ++spins;
        if (spins == kSpins) {
            __atomic_fetch_add(&j.sleepers, 1, __ATOMIC_SEQ_CST);
            if (get(j.stops) == 0) {
                __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&j.ticket) + 1, int(seen >> 32), -1);
            }
            __atomic_fetch_sub(&j.sleepers, 1, __ATOMIC_SEQ_CST);
        }
    }
    if (get(j.stops) != 0) return 0;
    take_shares(j);
    return 1;
}

LAPIDARY_EXPORT(stop) void stop() {
    __atomic_store_n(&job().stops, 1, __ATOMIC_SEQ_CST);
    __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&job().ticket) + 1, 64);
}

// A thread has ended before its time.
LAPIDARY_EXPORT(fail) void fail() {
    __atomic_store_n(&job().failed, 1, __ATOMIC_SEQ_CST);
    __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&job().done), 1);
}

// What is timed to find the fastest kernels: a product with 512 × 1024 weights, in Q4_K, of so many tokens. The memory from `at`
// on is free. → bytes it takes; 0: this module does not know such digits.
LAPIDARY_EXPORT(trial) uint32_t trial(Address at, Digits digits, uint32_t tokens) {
    constexpr uint32_t kRows = 512, kCols = 1024;
#ifdef LAPIDARY_CPU_BASELINE
    if (digits != Digits::two_i16) return 0;
#endif
    const Address x = Address(at + matrix_bytes(Form::q4_k, kRows, kCols));
    const Address y = x + kMaxRows * digit_row_bytes(digits, kCols);
    const Address step = y + kMaxRows * kRows * 4;
    const Address end = step + 1024;
    if (tokens == 0) return end - at;
    Memory{}.at<Step>(step)->count = tokens;
    const ProductOp op{.w = {.form = Form::q4_k, .at = at, .rows = kRows, .cols = kCols},
                       .digits = digits,
                       .adds = 0,
                       .scale = 1,
                       .x = {x, 0},
                       .y = {y, kRows}};
    product(Memory{}, op, *Memory{}.at<const Step>(step), {0, kRows / 8});
    return end - at;
}

#ifndef LAPIDARY_CPU_BASELINE
// Whether relaxed dot products are what they should be: an engine had them wrong in its quickly made code. → 1 if they are. A part of
// 4 KiB from `at` on is free.
LAPIDARY_EXPORT(check) int check(Address at) {
    auto* const w = Memory{}.at<uint8_t>(at);
    auto* const x = Memory{}.at<float>(at + 2048);
    const Address digits_at = at + 2048 + 1024;
    uint32_t seed = 1;
    const auto next = [&] { return seed = seed * 1664525 + 1013904223; };
    for (uint32_t i = 0; i < 1152; ++i) w[i] = uint8_t(next() >> 24) & (i < 1024 ? 255 : 63);
    for (uint32_t i = 0; i < 16; ++i) store(w + 1152 + 4 * i, 1.0f);
    for (uint32_t i = 0; i < kBlock; ++i) x[i] = float(int32_t(next()));
    const auto product_with = [&]<class D>(D, Pair& y) {
        const Rows from{at + 2048, kBlock};
        digits(Memory{}, {.x = from, .cols = kBlock, .digits = D::kDigits, .out = digits_at, .per_token = 1}, {0, 1});
        multiply_group<Q4K, D>(w, kBlock, Memory{}.at<const uint8_t>(digits_at), 0, 1, &y);
    };
    Pair exact{}, relaxed{};
    product_with(TwoI16{}, exact);
    product_with(ThreeI8{}, relaxed);
    for (int i = 0; i < 4; ++i) {
        const float a = exact.a[i] - relaxed.a[i];
        const float b = exact.b[i] - relaxed.b[i];
        if (!(a * a < 1e16f && b * b < 1e16f)) return 0;  // of products of some 1e12
    }
    return 1;
}
#endif

}  // namespace lapidary::cpu
#endif
