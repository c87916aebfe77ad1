#include "kernels/check/limbs.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lapidary::kernels::check {
namespace {

constexpr double kLargest = 63 * 65536;
constexpr size_t kLimbs = 3;
constexpr size_t kUnitBytes = 14 * size_t{16};

// Where byte `limb` of element i lies.
size_t byte_at(size_t units, size_t limb, size_t i) {
    const size_t run = i % 64 / 16;
    return ((limb * 4 + run) * units + i / 64) * 16 + i % 16;
}

// Where the scale of a half (of 32) lies, and the sum of a run.
size_t scale_at(size_t units, size_t half) {
    return (12 * units + half / 2 * 2) * 16 + half % 2 * 4;
}
size_t sum_at(size_t units, size_t run) {
    return (12 * units + run / 4 * 2 + 1) * 16 + run % 4 * 4;
}

float float_at(std::span<const uint8_t> bytes, size_t at) {
    float value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
}

std::vector<double> padded(std::span<const double> x) {
    std::vector<double> out(x.begin(), x.end());
    out.resize(units_of(x.size()) * 64);
    return out;
}

double sum_of_run(const std::vector<double>& x, size_t run) {
    double sum = 0;
    for (size_t i = 0; i < 16; ++i) sum += x[16 * run + i];
    return sum;
}

}  // namespace

Array given_limbs(std::span<const double> x) {
    const size_t units = units_of(x.size());
    const std::vector<double> all = padded(x);
    std::vector<uint8_t> bytes(units * kUnitBytes);
    const auto put = [&](size_t at, double value) {
        const auto single = float(value);
        std::memcpy(&bytes[at], &single, 4);
    };
    for (size_t half = 0; half < 2 * units; ++half) {
        double largest = 0;
        for (size_t i = 32 * half; i < 32 * half + 32; ++i) largest = std::max(largest, std::abs(all[i]));
        put(scale_at(units, half), largest / kLargest);
        for (size_t i = 32 * half; i < 32 * half + 32; ++i) {
            // Signed bytes: each but the last leaves a remainder of −128 … 127.
            auto whole = largest > 0 ? int64_t(std::nearbyint(all[i] / largest * kLargest)) : 0;
            for (size_t limb = 0; limb < kLimbs; ++limb) {
                const auto low = int8_t(whole & 255);
                bytes[byte_at(units, limb, i)] = std::bit_cast<uint8_t>(low);
                whole = (whole - low) / 256;
            }
        }
    }
    for (size_t run = 0; run < 4 * units; ++run) put(sum_at(units, run), sum_of_run(all, run));
    return given(std::move(bytes));
}

Array limbs_written(Random& random, std::span<const double> x) {
    const size_t units = units_of(x.size());
    const std::vector<double> all = padded(x);
    Array out = written(random, units * kUnitBytes / 4);
    const size_t margin = out.expected.size() - units * kUnitBytes / 4;
    out.element = Element::limbs;
    out.expected = all;
    for (size_t run = 0; run < 4 * units; ++run) out.expected.push_back(sum_of_run(all, run));
    out.expected.resize(out.expected.size() + margin, kUntouched);
    return out;
}

std::vector<float> numbers_in_limbs(std::span<const uint8_t> bytes, size_t units) {
    std::vector<float> out;
    for (size_t i = 0; i < 64 * units; ++i) {
        int32_t whole = 0;
        for (size_t limb = kLimbs; limb > 0; --limb) {
            whole = whole * 256 + std::bit_cast<int8_t>(bytes[byte_at(units, limb - 1, i)]);
        }
        out.push_back(float_at(bytes, scale_at(units, i / 32)) * float(whole));
    }
    for (size_t run = 0; run < 4 * units; ++run) out.push_back(float_at(bytes, sum_at(units, run)));
    return out;
}

}  // namespace lapidary::kernels::check
