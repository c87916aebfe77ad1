#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_source.h"
#include "kernels/check/caches.h"
#include "kernels/check/limbs.h"
#include "kernels/check/norms.h"
#include "kernels/check/products.h"
#include "kernels/check/suites.h"
#include "kernels/gemv/gemv.h"
#include "kernels/moe/moe_ops.h"

namespace lapidary::kernels::check::gemv_cases {
namespace {

// Which of the prologues, without what they read.
enum class PrologueKind : uint8_t { ready, floats, add_rms_norm, merge_splits };

struct PrologueShape {
    PrologueKind kind = PrologueKind::floats;
    Activations form = Activations::floats;  // of what is ready
    bool add = false;                        // of add_rms_norm
    bool next = false;
    uint32_t dim = 64;  // of merge_splits
    uint32_t position = 0;
    uint32_t window = 0;
    uint32_t max_splits = 8;
};

constexpr float kScale = 0.75f;  // of add_rms_norm

// What the kernel reads to make x, what it should come to, and what is left in h.
struct Input {
    Array x, delta, norms, h;
    std::vector<double> values;
};

std::vector<double> doubles_of(std::span<const float> values) {
    return {values.begin(), values.end()};
}

Input added_and_normed(const PrologueShape& source, size_t cols, Random& random) {
    const std::vector<float> h = random.floats(cols, -2, 2);
    const std::vector<float> delta = random.floats(cols, -3, 3);
    std::vector<float> norms = random.floats((size_t{source.add} + size_t{source.next}) * cols, 0.5f, 1.5f);
    norms.push_back(kScale);
    std::vector<double> now = doubles_of(h);
    if (source.add) {
        const std::vector<double> added = rms_norm(delta, std::span(norms).first(cols));
        for (size_t i = 0; i < cols; ++i) now[i] += added[i];
    }
    for (double& value : now) value *= double(kScale);
    Array after = written(random, cols);
    std::ranges::copy(now, after.expected.begin());
    if (source.next) now = rms_norm(now, std::span(norms).subspan(source.add ? cols : 0, cols));
    return {given(h), given(delta), given(norms), std::move(after), std::move(now)};
}

Input input_of(const PrologueShape& source, const Product& p, Random& random) {
    constexpr std::array<float, 4> kNothing = {};
    if (source.kind == PrologueKind::add_rms_norm) return added_and_normed(source, size_t(p.cols), random);
    Input out{.x = {}, .delta = given(kNothing), .norms = given(kNothing), .h = written(random, 4), .values = {}};
    if (source.kind == PrologueKind::merge_splits) {
        const uint32_t count = attention_splits(source.position + 1, source.window, source.max_splits);
        const Splits splits =
            random_splits(random, uint32_t(p.cols) / source.dim, source.dim, source.max_splits, count);
        out.x = given(splits.values);
        out.delta = given(splits.stats);
        out.values = splits.merged;
        return out;
    }
    const std::vector<float> x = random.floats(x_rows(p) * size_t(p.cols));
    out.values = doubles_of(x);
    out.x = source.form == Activations::limbs ? given_limbs(out.values) : given(x);
    return out;
}

struct Test {
    Product product;
    GemvTiling tiling;
    PrologueShape prologue = {};
    bool limbs = false;  // y as limbs
};

// w, x, delta, norms, aux, step, h, y
std::vector<Array> arrays_of(const Test& test, Random& random) {
    const Product& p = test.product;
    const Operands operands = operands_of(p, random);
    Input input = input_of(test.prologue, p, random);
    Array y = test.limbs ? limbs_written(random, results_of(p, operands, input.values))
                         : y_of(p, operands, input.values, random);
    return {given(operands.w.packed), std::move(input.x), std::move(input.delta),
            std::move(input.norms),   operands.aux(p),    step(test.prologue.position, p.tokens),
            std::move(input.h),       std::move(y)};
}

std::string prologue_text(const PrologueShape& source) {
    switch (source.kind) {
        case PrologueKind::ready: return source.form == Activations::limbs ? ", ready limbs" : ", ready floats";
        case PrologueKind::floats: return "";
        case PrologueKind::add_rms_norm:
            return format(", after add and norm ({} added, {})", int(source.add), source.next ? "norm" : "none");
        case PrologueKind::merge_splits: return format(", parts of heads of {} at {}", source.dim, source.position);
    }
    return "";
}

Prologue prologue_of(const PrologueShape& source, Tensors t) {
    switch (source.kind) {
        case PrologueKind::ready: return ReadyX{};
        case PrologueKind::floats: break;
        case PrologueKind::add_rms_norm:
            return AddRmsNormX{
                .delta = source.add ? t[2] : gpu::Tensor(), .weights = t[3], .h_out = t[6], .next = source.next};
        case PrologueKind::merge_splits:
            return MergeSplitsX{
                .stats = t[2], .head_dim = source.dim, .window = source.window, .max_splits = source.max_splits};
    }
    return FloatX{};
}

Result<Dispatch> gemv(const Test& test, const Target& target, Tensors t) {
    const Product& p = test.product;
    const Matrix matrix = matrix_of(p, t[0]);
    Gemv op{.w = matrix.w,
            .below = matrix.second(),
            .x = t[1],
            .y = with_stride(t[7], p.y_stride()),
            .out = p.out,
            .y_offset = p.y_offset(),
            .prologue = prologue_of(test.prologue, t),
            .epilogue = epilogue_of(p, t[4]),
            .tokens = p.tokens,
            .tiling = test.tiling};
    if (p.experts > 0) {
        ++op.tokens;  // one more than there is: the kernel must see that it has nothing to do
        op.experts = {.ids = t[4], .count = p.experts, .used = p.slots, .x_per_slot = p.x_per_slot};
    }
    return op.dispatch(target);
}

Case case_of(const Test& test) {
    const PrologueShape& source = test.prologue;
    return {.weights = test.product.type,
            .below = test.product.below,
            .only = source.kind == PrologueKind::ready ? std::optional(source.form) : std::nullopt,
            .limit = limit_of(test.product),
            .launches = {{[test](const Target& target, Tensors t) { return gemv(test, target, t); }}},
            .arrays = [test](Random& random) { return arrays_of(test, random); }};
}

Case described(const Test& test) {
    Case out = case_of(test);
    const GemvTiling& d = test.tiling;
    out.shape = shape_of(test.product) + prologue_text(test.prologue);
    if (test.limbs) out.shape += ", to limbs";
    out.shape += format(", {} threads by {} × {}{}", d.threads, d.threads_per_row, d.rows, d.prefetch ? ", ahead" : "");
    return out;
}

// Experts of which not all are on the GPU at once: those that the router has chosen are told to the host, and the product
// reads where the host says that they are. Here every one is somewhere, in another order.
constexpr uint32_t kStreamed = 7;
constexpr uint32_t kStreamedSlots = 6;  // three of each of two tokens

uint32_t place_of(uint32_t expert) {
    return (5 * expert + 3) % kStreamed;
}

// The host's part: the router's experts are read, and their places written.
Task<Status> place_experts(gpu::Device& device, Tensors t, Cancel cancel) {
    constexpr size_t kBytes = kStreamedSlots * sizeof(uint32_t);
    Bytes bytes = CO_TRY(co_await device.read(t[10].at.buffer, 0, kBytes, cancel));
    for (size_t at = 0; at < kBytes; at += sizeof(uint32_t)) {
        uint32_t word = 0;
        std::memcpy(&word, &bytes[at], sizeof word);
        word = place_of(word);
        std::memcpy(&bytes[at], &word, sizeof word);
    }
    device.write(t[4].at.buffer, 0, bytes);
    co_return Status{};
}

// As for every product, with the places instead of the experts; logits, scales, ids, weights of the router
std::vector<Array> routed_arrays(const Test& test, Random& random) {
    const Product& p = test.product;
    Operands operands = operands_of(p, random);
    const Input input = input_of(test.prologue, p, random);
    std::vector<float> logits(size_t(p.tokens) * kStreamed);
    Array ids = written(random, operands.chosen.size(), Element::u32);
    Array places = written(random, operands.chosen.size(), Element::u32);
    for (uint32_t t = 0; t < p.tokens; ++t) {
        // Every slot is sure of its expert, and they are not in order.
        const uint32_t first = random.below(kStreamed);
        for (uint32_t e = 0; e < kStreamed; ++e)
            logits[size_t(t) * kStreamed + (first + 3 * e) % kStreamed] = -float(e);
        for (uint32_t slot = 0; slot < p.slots; ++slot) {
            const size_t at = size_t(t) * p.slots + slot;
            const uint32_t expert = (first + 3 * slot) % kStreamed;
            operands.chosen[at] = place_of(expert);
            ids.expected[at] = expert;
            places.expected[at] = place_of(expert);
        }
    }
    Array y = y_of(p, operands, input.values, random);
    Array weights = written(random, operands.chosen.size());
    weights.expected.clear();  // seen to elsewhere
    return {given(operands.w.packed),
            input.x,
            input.delta,
            input.norms,
            std::move(places),
            step(0, p.tokens),
            input.h,
            std::move(y),
            given(logits),
            given(std::vector<float>(kStreamed, 1)),
            std::move(ids),
            std::move(weights)};
}

Case routed(const Test& test) {
    const Product& p = test.product;
    const auto route = [p](const Target& target, Tensors t) {
        return MoeRoute{.logits = t[8],
                        .scales = t[9],
                        .ids = t[10],
                        .weights = t[11],
                        .experts = p.experts,
                        .used = p.slots,
                        .rows = p.tokens}
            .dispatch(target);
    };
    return {.shape = shape_of(p) + ", placed by the host",
            .weights = p.type,
            .limit = limit_of(p),
            .launches = {{.op = route, .then = place_experts},
                         {[test](const Target& target, Tensors t) { return gemv(test, target, t); }}},
            .arrays = [test](Random& random) { return routed_arrays(test, random); }};
}

using enum TensorType;
using enum EpilogueKind;
constexpr PrologueShape kFloats{};
constexpr PrologueShape kAddsAndNorms{.kind = PrologueKind::add_rms_norm, .add = true, .next = true};
constexpr PrologueShape kAdds{.kind = PrologueKind::add_rms_norm, .add = true};
constexpr PrologueShape kNorms{.kind = PrologueKind::add_rms_norm, .next = true};
constexpr PrologueShape kScales{.kind = PrologueKind::add_rms_norm};
constexpr PrologueShape kReadyFloats{.kind = PrologueKind::ready};
constexpr PrologueShape kReadyLimbs{.kind = PrologueKind::ready, .form = Activations::limbs};

constexpr PrologueShape splits_of(uint32_t dim, uint32_t position, uint32_t window) {
    return {.kind = PrologueKind::merge_splits, .dim = dim, .position = position, .window = window};
}

// Compiling takes a software GPU most of a second each, so every format gets a tiling, a prologue and an epilogue
// of its own, rather than all of them.
constexpr auto kAtLoad = std::to_array<Test>({
    {{.type = q4_k, .cols = 256 * 9, .out = 257}, {256, 8, 2, true}, kAddsAndNorms},
    {{.type = q5_k, .cols = 768, .out = 17, .tokens = 2, .epilogue = gelu_gate}, {128, 4, 2}, kFloats},
    {{.type = q6_k, .cols = 256 * 5, .out = 257, .epilogue = softcap}, {128, 16, 1, true}, kFloats},
    {{.type = q4_0, .cols = 480, .out = 33}, {256, 4, 2, true}, splits_of(96, 130, 0)},
    {{.type = q8_0, .cols = 32 * 33, .out = 3, .tokens = 15}, {128, 32, 2}, kFloats},
    {{.type = q5_1, .cols = 768, .out = 17, .epilogue = gelu_times}, {128, 4, 1, true}, kAdds},
    {{.type = f16, .cols = 96, .out = 17, .tokens = 3, .epilogue = gelu_times}, {64, 2, 2, true}, kFloats},
    {{.type = bf16, .cols = 160, .out = 1}, {128, 1, 1}, kReadyFloats},
    {{.type = f32, .cols = 96, .out = 17, .strided = true}, {128, 1, 2}, kNorms},
    {{.type = q4_k, .cols = 768, .out = 70}, {128, 8, 2}, kReadyLimbs},
});

}  // namespace

std::vector<Case> at_load() {
    return cases_of<Test>(kAtLoad, case_of, kAtLoad.size());
}

std::vector<Case> all() {
    std::vector<Case> out = cases_of<Test>(kAtLoad, described, kAtLoad.size());
    const auto add = [&](const Test& test) { out.push_back(described(test)); };
    // The rest of what becomes i8, in one pipeline.
    for (const TensorType type : kOthers) add({{.type = type, .cols = 768, .out = 17}, {128, 4, 2}, kFloats});
    // Gate and up, whose product is prepared for down.
    add({{.type = q4_k, .cols = 256, .out = 192, .epilogue = gelu_gate}, {256, 4, 2}, kNorms, true});
    add({{.type = q4_k, .cols = 768, .out = 70}, {128, 8, 2}, kReadyFloats});
    add({{.type = q4_0, .cols = 32 * 67, .out = 33}, {128, 128, 1}, kReadyLimbs});
    // Four rows a group, of which the last has but some; gate and up.
    add({{.type = q6_k, .cols = 768, .out = 70}, {64, 8, 4}, kReadyLimbs});
    add({{.type = q4_0, .cols = 32 * 67, .out = 33}, {128, 4, 4}, kReadyLimbs});
    add({{.type = q4_k, .cols = 256 * 9, .out = 128, .epilogue = gelu_gate}, {256, 8, 4}, kAddsAndNorms, true});
    add({{.type = q4_k, .cols = 256 * 9, .out = 35, .epilogue = gelu_gate}, {128, 32, 4}, kReadyLimbs});
    // Three subgroups a row, two rows of which one is beyond the end.
    add({{.type = q4_k, .cols = 256 * 25, .out = 11}, {192, 96, 2}, kReadyLimbs});
    add({{.type = q6_k, .cols = 256 * 49, .out = 6}, {192, 96, 2}, kReadyLimbs});
    add({{.type = q4_k, .cols = 256 * 48, .out = 5}, {192, 192, 2}, kReadyLimbs});
    // Floats, several rounds a thread, a last unit that is not full.
    add({{.type = bf16, .cols = 64 * 9 + 32, .out = 19}, {64, 4, 2, true}, kFloats});
    add({{.type = f16, .cols = 64 * 9 + 32, .out = 19}, {64, 32, 1}, kReadyFloats});
    add({{.type = q8_0, .cols = 96, .out = 192}, {256, 2, 1, true}, kScales, true});
    // The last rows in another format: threads without a unit, groups of several rows, one of which is beyond the end.
    add({{.type = q4_k, .cols = 768, .out = 57, .below = q6_k, .below_rows = 21}, {256, 16, 1, true}, kAddsAndNorms});
    add({{.type = q4_0, .cols = 32 * 33, .out = 53, .below = q8_0, .below_rows = 19}, {128, 8, 2, true}, kFloats});
    add({{.type = q5_k, .cols = 768, .out = 70, .below = q5_1, .below_rows = 30}, {64, 8, 4}, kReadyLimbs});
    // As long as a row of the prologue may be.
    add({{.type = q6_k, .cols = 4096, .out = 9}, {256, 64, 1, true}, kAddsAndNorms});
    // One split, which is not full or just so; two; as many as there is room for.
    for (const uint32_t position : {0u, 63u, 64u, 1000u}) {
        add({{.type = q4_k, .cols = 512, .out = 40}, {256, 8, 1, true}, splits_of(256, position, 500)});
    }
    // Experts: gate and up of one x, then down of an x of each slot.
    add({{.type = q4_k, .cols = 256, .out = 17, .tokens = 15, .epilogue = gelu_gate, .experts = 5, .slots = 2},
         {128, 4, 2},
         kFloats});
    add({{.type = q4_0, .cols = 96, .out = 24, .tokens = 2, .experts = 7, .slots = 3, .x_per_slot = true},
         {128, 2, 2, true},
         kFloats});
    out.push_back(
        routed({{.type = q4_0, .cols = 96, .out = 24, .tokens = 2, .experts = kStreamed, .slots = kStreamedSlots / 2},
                {128, 2, 2, true},
                kFloats}));
    return out;
}

}  // namespace lapidary::kernels::check::gemv_cases
