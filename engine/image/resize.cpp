#include "image/resize.h"

#include <algorithm>
#include <cmath>

namespace lapidary::image {
namespace {

// What the pixels [first, first + weights.size()) contribute to one pixel of the result.
struct Taps {
    uint32_t first = 0;
    std::vector<double> weights;
};

// Keys' cubic with a = -1/2.
double cubic(double x) {
    constexpr double a = -0.5;
    x = std::abs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
    return 0;
}

std::vector<Taps> taps(uint32_t from, uint32_t to) {
    const double scale = double(from) / to;
    const double stretch = std::max(scale, 1.0);
    const double reach = 2 * stretch;
    std::vector<Taps> out(to);
    for (uint32_t i = 0; i < to; ++i) {
        const double centre = (i + 0.5) * scale;
        const auto first = uint32_t(std::max(0.0, centre - reach + 0.5));
        const auto end = uint32_t(std::min(double(from), centre + reach + 0.5));
        Taps& one = out[i];
        one.first = first;
        double sum = 0;
        for (uint32_t j = first; j < end; ++j) {
            one.weights.push_back(cubic((j - centre + 0.5) / stretch));
            sum += one.weights.back();
        }
        for (double& weight : one.weights) weight /= sum;
    }
    return out;
}

uint8_t level(double value) {
    return uint8_t(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}

// One row along x.
void squeeze_row(std::span<const uint8_t> in, const std::vector<Taps>& taps, std::span<uint8_t> out) {
    for (size_t x = 0; x < taps.size(); ++x) {
        const Taps& one = taps[x];
        double sum[3] = {};
        const uint8_t* pixel = in.data() + size_t{one.first} * 3;
        for (const double weight : one.weights) {
            for (int c = 0; c < 3; ++c) sum[c] += weight * pixel[c];
            pixel += 3;
        }
        for (size_t c = 0; c < 3; ++c) out[x * 3 + c] = level(sum[c]);
    }
}

}  // namespace

Result<Size> target_size(uint32_t width, uint32_t height, uint32_t budget, uint32_t side) {
    TRY(check_size(width, height));
    if (budget == 0 || side == 0) return fail(Code::invalid_argument, "a picture needs a budget of at least one token");
    // In the reference's own order, because the last bit decides where a side falls on a multiple.
    const double factor = std::sqrt(double(uint64_t{budget} * side * side) / double(uint64_t{height} * width));
    const auto whole = [&](double pixels) { return uint64_t(std::floor(pixels / side)); };
    uint64_t rows = whole(factor * height);
    uint64_t columns = whole(factor * width);
    if (rows == 0 && columns == 0) {
        return fail(Code::invalid_argument, "a picture of {} × {} pixels does not fit into {} tokens", width, height,
                    budget);
    }
    if (rows == 0) {
        rows = 1;
        columns = std::min<uint64_t>(width / height, budget);
    } else if (columns == 0) {
        columns = 1;
        rows = std::min<uint64_t>(height / width, budget);
    }
    return Size{.width = uint32_t(columns * side), .height = uint32_t(rows * side)};
}

Picture resize(const Pixels& pixels, Size size) {
    const uint32_t height = pixels.height();
    const uint32_t width = pixels.width();
    const size_t row_bytes = size_t{size.width} * 3;
    std::vector<uint8_t> narrow(row_bytes * height);
    std::vector<uint8_t> row(size_t{width} * 3);
    const std::vector<Taps> across = width == size.width ? std::vector<Taps>{} : taps(width, size.width);
    for (uint32_t y = 0; y < height; ++y) {
        const auto out = std::span(narrow).subspan(y * row_bytes, row_bytes);
        if (across.empty()) {
            pixels.row(y, out);
        } else {
            pixels.row(y, row);
            squeeze_row(row, across, out);
        }
    }
    if (height == size.height) return {.size = size, .rgb = std::move(narrow)};

    Picture out{.size = size, .rgb = std::vector<uint8_t>(row_bytes * size.height)};
    const std::vector<Taps> down = taps(height, size.height);
    std::vector<double> sums(row_bytes);
    for (uint32_t y = 0; y < size.height; ++y) {
        std::ranges::fill(sums, 0.0);
        const Taps& one = down[y];
        for (size_t j = 0; j < one.weights.size(); ++j) {
            const uint8_t* const in = narrow.data() + (one.first + j) * row_bytes;
            for (size_t i = 0; i < row_bytes; ++i) sums[i] += one.weights[j] * in[i];
        }
        for (size_t i = 0; i < row_bytes; ++i) out.rgb[y * row_bytes + i] = level(sums[i]);
    }
    return out;
}

}  // namespace lapidary::image
