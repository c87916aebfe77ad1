#include <algorithm>
#include <array>

#include "kernels/check/caches.h"
#include "kernels/check/norms.h"
#include "kernels/check/planes.h"
#include "kernels/check/products.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::matvec_cases {
namespace {

// Where x comes from; the numbers of matvec.wgsl.
enum class From : uint8_t { prepared = 0, floats = 1, seam = 2, parts = 3 };

struct Source {
    From from = From::floats;
    Activations form = Activations::floats;  // of what is there
    bool add = false;                        // of a seam
    bool next = false;
    uint32_t dim = 64;  // of parts
    uint32_t position = 0;
    uint32_t window = 0;
    uint32_t most = 8;
};

// How the work is divided, as the caller of the kernel chooses it.
struct Division {
    uint32_t threads;
    uint32_t lanes;      // threads a row
    uint32_t rows;       // of W, a group of lanes
    bool ahead = false;  // the first weights are loaded before x is there
};

constexpr float kScale = 0.75f;  // of a seam

// What the kernel reads to make x, what it should come to, and what is left in h.
struct Input {
    Array x, delta, norms, h;
    std::vector<double> values;
};

std::vector<double> doubles_of(std::span<const float> values) {
    return {values.begin(), values.end()};
}

Input seam(const Source& source, size_t cols, Random& random) {
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

Input input_of(const Source& source, const Product& p, Random& random) {
    constexpr std::array<float, 4> kNothing = {};
    if (source.from == From::seam) return seam(source, size_t(p.cols), random);
    Input out{.x = {}, .delta = given(kNothing), .norms = given(kNothing), .h = written(random, 4), .values = {}};
    if (source.from == From::parts) {
        const uint32_t splits = attention_splits(source.position + 1, source.window, source.most);
        const Parts parts = random_parts(random, uint32_t(p.cols) / source.dim, source.dim, source.most, splits);
        out.x = given(parts.values);
        out.delta = given(parts.stats);
        out.values = parts.together;
        return out;
    }
    const std::vector<float> x = random.floats(x_rows(p) * size_t(p.cols));
    out.values = doubles_of(x);
    out.x = source.form == Activations::planes ? given_planes(out.values) : given(x);
    return out;
}

// w, x, delta, norms, aux, step, h, y
std::vector<Array> arrays_of(const Product& p, const Source& source, bool planes, Random& random) {
    const Operands operands = operands_of(p, random);
    Input input = input_of(source, p, random);
    Array y = planes ? planes_written(random, results_of(p, operands, input.values))
                     : y_of(p, operands, input.values, random);
    return {given(operands.w.packed), std::move(input.x), std::move(input.delta),
            std::move(input.norms),   operands.aux(p),    step(source.position, p.tokens),
            std::move(input.h),       std::move(y)};
}

std::string source_text(const Source& source) {
    switch (source.from) {
        case From::prepared: return source.form == Activations::planes ? ", prepared planes" : ", prepared floats";
        case From::floats: return "";
        case From::seam: return format(", after a seam ({} added, {})", int(source.add), source.next ? "norm" : "none");
        case From::parts: return format(", parts of heads of {} at {}", source.dim, source.position);
    }
    return "";
}

struct Test {
    Product product;
    Division division;
    Source source = {};
    bool planes = false;  // y as planes
};

Case matvec(const Test& test) {
    const Product& p = test.product;
    const Division& d = test.division;
    const Source& source = test.source;
    std::vector<gpu::Constant> constants = constants_of(p);
    const auto set = [&](std::string_view name, double value) { constants.push_back({name, value}); };
    set("kSource", double(source.from));
    set("kThreads", d.threads);
    set("kLanes", d.lanes);
    set("kRows", d.rows);
    set("kAhead", d.ahead ? 1 : 0);
    set("kPlanes", test.planes ? 1 : 0);
    // One token more than there is: the kernel must see that it has nothing to do.
    set("kTokens", p.tokens + 1);
    if (source.from == From::seam) {
        set("kAdd", source.add ? 1 : 0);
        set("kNext", source.next ? 1 : 0);
        set("kEps", kEps);
    }
    if (source.from == From::parts) {
        set("kDim", source.dim);
        set("kWindow", source.window);
        set("kMaxSplits", source.most);
    }
    if (p.experts > 0) {
        set("kExperts", p.slots);
        set("kWRows", double(p.w_rows()));
        set("kXPerSlot", p.x_per_slot ? 1 : 0);
    }
    const uint64_t outputs = p.finish == Finish::gelu_gate ? d.rows / 2 : d.rows;
    const Grid grid{ceil_div(p.out, d.threads / d.lanes * outputs), p.tokens + 1, p.slots};
    return {
        .weights = p.type,
        .below = p.below,
        .only = source.from == From::prepared ? std::optional(source.form) : std::nullopt,
        .limit = limit_of(p),
        .dispatches = {{kMatvec, std::move(constants), grid}},
        .arrays = [p, source, planes = test.planes](Random& random) { return arrays_of(p, source, planes, random); }};
}

Case described(const Test& test) {
    Case out = matvec(test);
    const Division& d = test.division;
    out.shape = shape_of(test.product) + source_text(test.source);
    if (test.planes) out.shape += ", to planes";
    out.shape += format(", {} threads by {} × {}{}", d.threads, d.lanes, d.rows, d.ahead ? ", ahead" : "");
    return out;
}

using enum TensorType;
using enum Finish;
constexpr Source kFloats{};
constexpr Source kWholeSeam{.from = From::seam, .add = true, .next = true};
constexpr Source kAdds{.from = From::seam, .add = true};
constexpr Source kNorms{.from = From::seam, .next = true};
constexpr Source kScales{.from = From::seam};
constexpr Source kPreparedFloats{.from = From::prepared};
constexpr Source kPreparedPlanes{.from = From::prepared, .form = Activations::planes};

constexpr Source parts_of(uint32_t dim, uint32_t position, uint32_t window) {
    return {.from = From::parts, .dim = dim, .position = position, .window = window};
}

// Compiling takes a software GPU most of a second each, so every format gets a division of the work, a source and a finish
// of its own, rather than all of them.
constexpr auto kAtLoad = std::to_array<Test>({
    {{.type = q4_k, .cols = 256 * 9, .out = 257}, {256, 8, 2, true}, kWholeSeam},
    {{.type = q5_k, .cols = 768, .out = 17, .tokens = 2, .finish = gelu_gate}, {128, 4, 2}, kFloats},
    {{.type = q6_k, .cols = 256 * 5, .out = 257, .finish = softcap}, {128, 16, 1, true}, kFloats},
    {{.type = q4_0, .cols = 480, .out = 33}, {256, 4, 2, true}, parts_of(96, 130, 0)},
    {{.type = q8_0, .cols = 32 * 33, .out = 3, .tokens = 15}, {128, 32, 2}, kFloats},
    {{.type = q5_1, .cols = 768, .out = 17, .finish = gelu_times_aux}, {128, 4, 1, true}, kAdds},
    {{.type = f16, .cols = 96, .out = 17, .tokens = 3, .finish = gelu_times_aux, .strided = true},
     {64, 2, 2, true},
     kFloats},
    {{.type = bf16, .cols = 160, .out = 1}, {128, 1, 1}, kPreparedFloats},
    {{.type = f32, .cols = 96, .out = 17, .strided = true}, {128, 1, 2}, kNorms},
    {{.type = q4_k, .cols = 768, .out = 70}, {128, 8, 2}, kPreparedPlanes},
});

}  // namespace

std::vector<Case> at_load() {
    return cases_of<Test>(kAtLoad, matvec, kAtLoad.size());
}

std::vector<Case> all() {
    std::vector<Case> out = cases_of<Test>(kAtLoad, described, kAtLoad.size());
    const auto add = [&](const Test& test) { out.push_back(described(test)); };
    // The rest of what becomes i8, in one pipeline.
    for (const TensorType type : kOthers) add({{.type = type, .cols = 768, .out = 17}, {128, 4, 2}, kFloats});
    // Gate and up, whose product is prepared for down.
    add({{.type = q4_k, .cols = 256, .out = 192, .finish = gelu_gate}, {256, 4, 2}, kNorms, true});
    add({{.type = q4_k, .cols = 768, .out = 70}, {128, 8, 2}, kPreparedFloats});
    add({{.type = q4_0, .cols = 32 * 67, .out = 33}, {128, 128, 1}, kPreparedPlanes});
    // Four rows a group, of which the last has but some; gate and up.
    add({{.type = q6_k, .cols = 768, .out = 70}, {64, 8, 4}, kPreparedPlanes});
    add({{.type = q4_0, .cols = 32 * 67, .out = 33}, {128, 4, 4}, kPreparedPlanes});
    add({{.type = q4_k, .cols = 256 * 9, .out = 128, .finish = gelu_gate}, {256, 8, 4}, kWholeSeam, true});
    add({{.type = q4_k, .cols = 256 * 9, .out = 35, .finish = gelu_gate}, {128, 32, 4}, kPreparedPlanes});
    // Three subgroups a row, two rows of which one is beyond the end.
    add({{.type = q4_k, .cols = 256 * 25, .out = 11}, {192, 96, 2}, kPreparedPlanes});
    add({{.type = q6_k, .cols = 256 * 49, .out = 6}, {192, 96, 2}, kPreparedPlanes});
    add({{.type = q4_k, .cols = 256 * 48, .out = 5}, {192, 192, 2}, kPreparedPlanes});
    // Floats, several rounds a lane, a last unit that is not full.
    add({{.type = bf16, .cols = 64 * 9 + 32, .out = 19}, {64, 4, 2, true}, kFloats});
    add({{.type = f16, .cols = 64 * 9 + 32, .out = 19}, {64, 32, 1}, kPreparedFloats});
    add({{.type = q8_0, .cols = 96, .out = 192}, {256, 2, 1, true}, kScales, true});
    // The last rows in another format: lanes without a unit, groups of several rows, one of which is beyond the end.
    add({{.type = q4_k, .cols = 768, .out = 57, .below = q6_k, .below_rows = 21}, {256, 16, 1, true}, kWholeSeam});
    add({{.type = q4_0, .cols = 32 * 33, .out = 53, .below = q8_0, .below_rows = 19}, {128, 8, 2, true}, kFloats});
    add({{.type = q5_k, .cols = 768, .out = 70, .below = q5_1, .below_rows = 30}, {64, 8, 4}, kPreparedPlanes});
    // As long as a seam may be.
    add({{.type = q6_k, .cols = 4096, .out = 9}, {256, 64, 1, true}, kWholeSeam});
    // One part, which is not full or just so; two; as many as there is room for.
    for (const uint32_t position : {0u, 63u, 64u, 1000u}) {
        add({{.type = q4_k, .cols = 512, .out = 40}, {256, 8, 1, true}, parts_of(256, position, 500)});
    }
    // Experts: gate and up of one x, then down of an x of each slot.
    add({{.type = q4_k, .cols = 256, .out = 17, .tokens = 15, .finish = gelu_gate, .experts = 5, .slots = 2},
         {128, 4, 2},
         kFloats});
    add({{.type = q4_0, .cols = 96, .out = 24, .tokens = 2, .experts = 7, .slots = 3, .x_per_slot = true},
         {128, 2, 2, true},
         kFloats});
    return out;
}

}  // namespace lapidary::kernels::check::matvec_cases
