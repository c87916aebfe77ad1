#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/check/suites.h"
#include "kernels/train/adamw.h"

namespace lapidary::kernels::check::adamw_cases {
namespace {

// learning_rate, beta1, beta2, epsilon, weight_decay, clip_norm, correction1, correction2
constexpr std::array<float, 8> kSettings = {1e-2f, 0.9f, 0.999f, 1e-8f, 0.01f, 1.0f, 0.19f, 0.001999f};

Array exactly(std::vector<float> values) {
    std::vector<uint8_t> bytes(values.size() * 4);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return given(std::move(bytes));
}

// settings, found, g, value, first, second: all of them to their end
std::vector<Array> arrays_of(float factor, size_t count, Random& random) {
    const std::vector<float> g = random.floats(count);
    const std::vector<float> value = random.floats(count);
    const std::vector<float> first = random.floats(count, -0.1f, 0.1f);
    const std::vector<float> second = random.floats(count, 0.0f, 0.1f);
    std::vector<Array> out = {given(kSettings), given(std::vector<float>{3, factor, 0, 0}),
                              exactly(g),       exactly(value),
                              exactly(first),   exactly(second)};
    for (size_t i = 2; i < out.size(); ++i) out[i].expected.assign(count, kUntouched);
    for (size_t i = 0; i < count; ++i) {
        out[2].expected[i] = 0;
        if (factor < 0) continue;
        const double d = double(g[i]) * double(factor);
        const double m = double(kSettings[1]) * double(first[i]) + (1 - double(kSettings[1])) * d;
        const double v = double(kSettings[2]) * double(second[i]) + (1 - double(kSettings[2])) * d * d;
        const double kept = double(value[i]) * (1 - double(kSettings[0]) * double(kSettings[4]));
        const double by = m / double(kSettings[6]) / (std::sqrt(v / double(kSettings[7])) + double(kSettings[3]));
        out[3].expected[i] = kept - double(kSettings[0]) * by;
        out[4].expected[i] = m;
        out[5].expected[i] = v;
    }
    return out;
}

// settings, sums, found
std::vector<Array> clip_arrays(float clip_norm, bool broken, Random& random) {
    std::vector<float> settings(kSettings.begin(), kSettings.end());
    settings[5] = clip_norm;
    std::vector<float> sums = random.floats(300, 0, 2);
    if (broken) sums[77] = std::numeric_limits<float>::infinity();
    double total = 0;
    for (const float sum : sums) total += double(sum);
    const double norm = std::sqrt(total);
    const double factor = clip_norm > 0 ? std::min(1.0, double(clip_norm) / (norm + 1e-6)) : 1;
    // What is not finite is compared by its bits: infinity, and −1.
    Array found = written(random, 4, broken ? Element::u32 : Element::f32);
    const std::array<double, 4> expected = {broken ? 0x7F800000 : norm, broken ? 0xBF800000 : factor, 0, 0};
    for (size_t i = 0; i < 4; ++i) found.expected[i] = expected[i];
    return {given(settings), exactly(sums), std::move(found)};
}

}  // namespace

std::vector<Case> square_sums() {
    constexpr size_t kCount = 100'004;
    // x, sums
    const auto arrays = [](Random& random) -> std::vector<Array> {
        const std::vector<float> x = random.floats(kCount);
        Array sums = written(random, 64);
        for (size_t i = 0; i < 64; ++i) sums.expected[i] = 0;
        for (size_t i = 0; i < kCount; ++i) sums.expected[i / 4 / 256 % 64] += double(x[i]) * double(x[i]);
        return {exactly(x), std::move(sums)};
    };
    return {{.shape = format("{} numbers", kCount),
             .quick = true,
             .launches = {launch([](Tensors t) { return SquareSums{.x = t[0], .sums = t[1]}; })},
             .arrays = arrays}};
}

std::vector<Case> clip_factor() {
    const Launch clip = launch([](Tensors t) { return ClipFactor{.settings = t[0], .sums = t[1], .found = t[2]}; });
    std::vector<Case> out;
    for (const float most : {1.0f, 1000.0f, 0.0f}) {
        out.push_back({.shape = format("at most {}", int(most)),
                       .quick = true,
                       .launches = {clip},
                       .arrays = [=](Random& random) { return clip_arrays(most, false, random); }});
    }
    out.push_back({.shape = "not finite", .launches = {clip}, .arrays = [](Random& random) {
                       return clip_arrays(1, true, random);
                   }});
    return out;
}

std::vector<Case> adamw() {
    constexpr uint32_t kCount = 1001;
    std::vector<Case> out;
    for (const float factor : {0.25f, -1.0f}) {
        out.push_back({.shape = factor < 0 ? "gradients that are not finite" : "1001 numbers",
                       .quick = true,
                       .limit = 5e-6,
                       .launches = {{.op =
                                         [](const Target& target, Tensors t) {
                                             return AdamW{.settings = t[0],
                                                          .found = t[1],
                                                          .gradients = t[2],
                                                          .values = t[3],
                                                          .first_moments = t[4],
                                                          .second_moments = t[5],
                                                          .count = kCount}
                                                 .dispatch(target);
                                         },
                                     .grid = Grid{2}}},
                       .arrays = [=](Random& random) { return arrays_of(factor, kCount, random); }});
    }
    return out;
}

}  // namespace lapidary::kernels::check::adamw_cases
