#include <algorithm>
#include <bit>
#include <numeric>

#include "kernels/canvas/canvas_ops.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::canvas_cases {
namespace {

uint32_t bits(float value) {
    return std::bit_cast<uint32_t>(value);
}

// What the host gives with a step (lib/canvas.wgsl).
struct Given {
    float temperature = 0.7f;
    float previous = 0.8f;
    float entropy_bound = 0.1f;
    float confidence = 0.005f;
    uint32_t stability = 1;
    bool first = false;
    std::vector<float> uniforms = {};
    std::vector<uint32_t> noise = {};

    [[nodiscard]] std::vector<uint32_t> words() const {
        std::vector<uint32_t> out = {
            bits(temperature), bits(previous), bits(entropy_bound), bits(confidence), stability, first ? 1u : 0, 0, 0};
        for (const float u : uniforms) out.push_back(bits(u));
        out.insert(out.end(), noise.begin(), noise.end());
        return out;
    }
};

struct Place {
    uint32_t best = 0, drawn = 0;
    float largest = 0, total = 1, entropy = 0, best_margin = 0, drawn_margin = 0;
};

Array given_places(std::span<const Place> places) {
    std::vector<float> values;
    for (const Place& p : places) {
        values.insert(values.end(), {p.largest, p.total, p.entropy, p.best_margin, p.drawn_margin});
    }
    return given(values);
}

Array given_tokens(std::span<const Place> places) {
    std::vector<uint32_t> ids;
    for (const Place& place : places) ids.insert(ids.end(), {place.best, place.drawn});
    return given(ids);
}

struct Tile {
    uint32_t vocabulary, first, tile, rows, first_row, all_rows, stride;
};

// given, places, logits: [rows, vocabulary], p: [all rows, stride]
std::vector<Array> tile_arrays(const Tile& s, Random& random) {
    const Given g;
    const std::vector<float> logits = random.floats(size_t(s.rows) * s.vocabulary, -8, 8);
    std::vector<Place> places(s.all_rows);
    Array p = written(random, size_t(s.all_rows) * s.stride);
    for (size_t r = 0; r < s.rows; ++r) {
        const auto row = std::span(logits).subspan(r * s.vocabulary, s.vocabulary);
        Place& place = places[s.first_row + r];
        place.largest = *std::ranges::max_element(row);
        double total = 0;
        for (const float z : row) total += std::exp(double(z - place.largest) / double(g.previous));
        place.total = float(total);
        for (size_t j = 0; j < s.tile; ++j) {
            p.expected[(s.first_row + r) * s.stride + j] =
                std::exp(double(row[s.first + j] - place.largest) / double(g.previous)) / double(place.total);
        }
    }
    return {given(g.words()), given_places(places), given(logits), std::move(p)};
}

struct Rows {
    uint32_t vocabulary, rows, first_row;
    float from = -20, to = 20;
    bool equal = false;  // all logits
};

// given, logits, places, tokens
std::vector<Array> place_arrays(const Rows& s, Random& random) {
    Given g{.temperature = 0.7f};
    const size_t all = s.first_row + s.rows;
    std::vector<float> logits = random.floats(size_t(s.rows) * s.vocabulary, s.from, s.to);
    if (s.equal) std::ranges::fill(logits, 1.5f);
    g.uniforms.assign(all, 0);
    g.noise.assign(all, 0);
    Array places = written(random, all * 5);
    Array tokens = written(random, all * 2, Element::u32);
    for (size_t r = 0; r < s.rows; ++r) {
        const auto row = std::span(logits).subspan(r * s.vocabulary, s.vocabulary);
        const auto best = size_t(std::ranges::max_element(row) - row.begin());
        std::vector<double> p;
        double total = 0;
        double second = -1e30;
        for (size_t v = 0; v < row.size(); ++v) {
            p.push_back(std::exp(double(row[v] - row[best]) / double(g.temperature)));
            total += p.back();
            if (v != best) second = std::max(second, double(row[v]));
        }
        double entropy = 0;
        for (const double e : p) entropy -= e > 0 ? e / total * std::log(e / total) : 0;
        // In the middle of the interval of some likely token.
        size_t drawn = best;
        for (int n = 0; n < 20; ++n) {
            const size_t other = random.below(s.vocabulary);
            if (p[other] > 1e-3 * total) drawn = other;
        }
        const double before = std::accumulate(p.begin(), p.begin() + ptrdiff_t(drawn), 0.0);
        const size_t place = s.first_row + r;
        g.uniforms[place] = float((before + p[drawn] / 2) / total);
        const double expected[] = {double(row[best]), total, entropy, double(row[best]) - second, p[drawn] / total / 2};
        std::ranges::copy(expected, places.expected.begin() + ptrdiff_t(place * 5));
        tokens.expected[place * 2] = double(best);
        tokens.expected[place * 2 + 1] = double(drawn);
    }
    return {given(g.words()), given(logits), std::move(places), std::move(tokens)};
}

struct Settling {
    uint32_t length;
    bool first = false;
    uint32_t before = 3;  // steps with the same tokens
    bool same = true;     // tokens in this step
    uint32_t stability = 1;
    float confidence = 0.005f;
    float scale = 0.2f;  // of entropies
    std::string_view what;
};

// given, places, tokens, ids, report
std::vector<Array> settle_arrays(const Settling& s, Random& random) {
    Given g{.entropy_bound = 0.4f, .confidence = s.confidence, .stability = s.stability, .first = s.first};
    const uint32_t n = s.length;
    std::vector<Place> places(n);
    std::vector<uint32_t> ids(n);
    std::vector<uint32_t> report(16 + 4 * n);
    report[8] = s.before;
    for (uint32_t i = 0; i < n; ++i) {
        g.uniforms.push_back(0);
        g.noise.push_back(random.below(1000));
        ids[i] = random.below(1000);
        places[i] = {.best = random.below(1000),
                     .drawn = random.below(1000),
                     .entropy = float(random.below(8)) / 8 * s.scale,  // with equals among them
                     .best_margin = 0.25f + float(random.below(100)),
                     .drawn_margin = 0.5f + float(random.below(100))};
        report[16 + i] = places[i].best + (s.same || i + 1 < n ? 0 : 1);
    }
    std::vector<uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, [&](uint32_t i) { return places[i].entropy; });
    float before = 0;
    float margin = 3e38f;
    uint32_t count = 0;
    std::vector<uint32_t> accepted(n);
    for (const uint32_t i : order) {
        margin = std::min(margin, std::abs(before - g.entropy_bound));
        accepted[i] = before <= g.entropy_bound ? 1 : 0;
        count += accepted[i];
        before += places[i].entropy;
    }
    const float mean = before / float(n);
    const uint32_t unchanged = s.first || !s.same ? 0 : s.before + 1;
    const auto least = [&](float Place::* member) { return std::ranges::min(places, {}, member).*member; };

    Array ids_after = given(ids);
    ids_after.expected.assign(n, kUntouched);
    Array after = given(report);
    after.expected.assign(report.size(), kUntouched);
    const auto expect = [&](size_t at, uint32_t word) { after.expected[at] = double(word); };
    expect(0, unchanged >= s.stability ? 1 : 0);
    expect(1, mean < s.confidence ? 1 : 0);
    expect(2, count);
    expect(3, bits(mean));
    expect(4, bits(least(&Place::best_margin)));
    expect(5, bits(least(&Place::drawn_margin)));
    expect(6, bits(margin));
    expect(7, bits(std::abs(mean - s.confidence)));
    expect(8, unchanged);
    for (uint32_t i = 0; i < n; ++i) {
        ids_after.expected[i] = accepted[i] != 0 ? places[i].drawn : g.noise[i];
        expect(16 + i, places[i].best);
        expect(16 + n + i, accepted[i]);
        expect(16 + 2 * n + i, ids[i]);
        expect(16 + 3 * n + i, bits(places[i].entropy));
    }
    return {given(g.words()), given_places(places), given_tokens(places), std::move(ids_after), std::move(after)};
}

}  // namespace

std::vector<Case> input() {
    std::vector<Case> out;
    constexpr uint32_t kN = 260;
    constexpr uint32_t kTokens = 3;
    for (const bool signal : {true, false}) {
        // step, x, signal, h
        const auto arrays = [signal](Random& random) -> std::vector<Array> {
            const std::vector<float> x = random.floats(size_t{kTokens} * kN);
            const std::vector<float> s = random.floats(x.size());
            Array h = written(random, x.size());
            for (size_t t = 0; t < kTokens; ++t) {
                double squares = 0;
                for (size_t i = t * kN; i < (t + 1) * kN; ++i) {
                    h.expected[i] = double(x[i]) + (signal ? double(s[i]) : 0);
                    squares += h.expected[i] * h.expected[i];
                }
                for (size_t i = t * kN; i < (t + 1) * kN; ++i) h.expected[i] /= std::sqrt(squares / kN + 1e-6);
            }
            return {step(0, kTokens), given(x), given(s), std::move(h)};
        };
        out.push_back(
            {.shape = format("{} × {}{}", kTokens, kN, signal ? ", with a signal" : ""),
             .quick = true,
             .launches = {launch([signal](Tensors t) {
                 return CanvasInput{
                     .x = t[1], .signal = signal ? t[2] : gpu::Tensor{}, .h = t[3], .cols = kN, .rows = kTokens + 1};
             })},
             .arrays = arrays});
    }
    return out;
}

std::vector<Case> probabilities() {
    std::vector<Case> out;
    for (const Tile& s : {Tile{700, 130, 300, 3, 2, 6, 304}, Tile{64, 0, 64, 5, 0, 5, 64}}) {
        out.push_back({.shape = format("{} of {} tokens, {} rows", s.tile, s.vocabulary, s.rows),
                       .quick = true,
                       .limit = 1e-5,  // of exp
                       .launches = {launch([s](Tensors t) {
                           return CanvasProbabilities{.given = t[0],
                                                      .places = t[1],
                                                      .of = {.logits = t[2], .first_row = s.first_row, .rows = s.rows},
                                                      .p = with_stride(t[3], s.stride),
                                                      .vocabulary = s.vocabulary,
                                                      .first = s.first,
                                                      .tile = s.tile};
                       })},
                       .arrays = [s](Random& random) { return tile_arrays(s, random); }});
    }
    return out;
}

std::vector<Case> places() {
    std::vector<Case> out;
    for (const Rows& s : {Rows{1031, 5, 3}, Rows{64, 8, 0, -4, 4}, Rows{20, 3, 0, -1, 1, true}}) {
        out.push_back({.shape = format("{} rows of {}{}", s.rows, s.vocabulary, s.equal ? ", all equal" : ""),
                       .quick = true,
                       .limit = 2e-5,
                       .launches = {launch([s](Tensors t) {
                           return CanvasPlaces{.given = t[0],
                                               .of = {.logits = t[1], .first_row = s.first_row, .rows = s.rows},
                                               .places = t[2],
                                               .tokens = t[3],
                                               .vocabulary = s.vocabulary};
                       })},
                       .arrays = [s](Random& random) { return place_arrays(s, random); }});
    }
    return out;
}

std::vector<Case> settle() {
    std::vector<Case> out;
    for (const Settling& s :
         {Settling{.length = 16, .what = "as before"},
          Settling{.length = 512, .same = false, .what = "one token changed"},
          Settling{.length = 4, .first = true, .stability = 0, .confidence = 1, .what = "the first step"},
          Settling{.length = 256, .before = 1, .stability = 2, .confidence = 0.5f, .what = "settled"},
          Settling{.length = 8, .scale = 0, .what = "certain"}}) {
        out.push_back(
            {.shape = format("{} places, {}", s.length, s.what),
             .quick = true,
             .launches = {launch([s](Tensors t) {
                 return CanvasSettle{
                     .given = t[0], .places = t[1], .tokens = t[2], .ids = t[3], .report = t[4], .length = s.length};
             })},
             .arrays = [s](Random& random) { return settle_arrays(s, random); }});
    }
    return out;
}

}  // namespace lapidary::kernels::check::canvas_cases
