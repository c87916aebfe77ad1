#include "audio/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace lapidary::audio {
namespace {

// The filter: a sinc that passes what is below 0.97 of the lower rate's half, under a Kaiser window of 64 of its
// half-waves to either side. It is flat to 7.4 kHz, and 80 dB down from 8.1 kHz on.
constexpr uint32_t kHalfWaves = 64;
constexpr double kCutoff = 0.97;
constexpr double kBeta = 7.9;
// Between entries of the table the filter is a straight line, which is right to 4e-7.
constexpr uint32_t kSteps = 1024;

// The modified Bessel function of order 0.
double bessel(double x) {
    double sum = 1;
    double term = 1;
    for (int k = 1; term > sum * 1e-17; ++k) {
        term *= x * x / (4.0 * k * k);
        sum += term;
    }
    return sum;
}

}  // namespace

struct Resampled::Filter {
    double scale;               // half-waves of the filter in a sample of the source
    uint64_t reach;             // samples of the source to either side
    std::vector<double> table;  // half the filter, kSteps entries for a half-wave, and one more to interpolate with

    explicit Filter(uint32_t rate)
        : scale(kCutoff * std::min(1.0, double(kRate) / double(rate))),
          reach(uint64_t(std::ceil(kHalfWaves / scale))),
          table(kHalfWaves * kSteps + 2) {
        for (size_t i = 0; i <= kHalfWaves * kSteps; ++i) {
            const double x = double(i) / kSteps;
            const double edge = x / kHalfWaves;
            const double sinc = i == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
            table[i] = sinc * bessel(kBeta * std::sqrt(std::max(0.0, 1 - edge * edge))) / bessel(kBeta);
        }
    }
    // `distance`: in samples of the source, at least 0.
    [[nodiscard]] double at(double distance) const {
        const double x = distance * scale * kSteps;
        if (x >= double(kHalfWaves * kSteps)) return 0;
        const auto i = size_t(x);
        return table[i] + (table[i + 1] - table[i]) * (x - double(i));
    }
};

Resampled::Resampled(Sound sound)
    : sound_(std::move(sound)), samples_((sound_.samples * kRate + sound_.rate - 1) / sound_.rate) {
    if (sound_.rate != kRate) filter_ = std::make_shared<const Filter>(sound_.rate);
}

void Resampled::read(uint64_t first, std::span<float> out) const {
    if (filter_ == nullptr) return sound_.read(first, out);
    if (out.empty()) return;
    // Sample i lies at i · rate / 16000 of the source: the whole part and the rest are exact.
    constexpr uint64_t kBlock = 4096;
    std::vector<float> source;
    for (size_t begin = 0; begin < out.size(); begin += kBlock) {
        const uint64_t end = std::min<uint64_t>(begin + kBlock, out.size());
        const uint64_t centre = (first + begin) * sound_.rate / kRate;
        const uint64_t last = (first + end - 1) * sound_.rate / kRate;
        const uint64_t from = centre > filter_->reach ? centre - filter_->reach : 0;
        const uint64_t to = std::min(sound_.samples, last + filter_->reach + 2);
        source.resize(size_t(to - from));
        sound_.read(from, source);
        for (size_t i = begin; i < end; ++i) {
            const uint64_t position = (first + i) * sound_.rate;
            const uint64_t whole = position / kRate;
            const double rest = double(position % kRate) / kRate;
            const uint64_t low = whole > filter_->reach ? whole - filter_->reach : 0;
            const uint64_t high = std::min(sound_.samples, whole + filter_->reach + 2);
            double sum = 0;
            for (uint64_t k = low; k < high; ++k) {
                const double distance = std::abs(double(int64_t(k) - int64_t(whole)) - rest);
                sum += filter_->at(distance) * double(source[size_t(k - from)]);
            }
            out[i] = float(sum * filter_->scale);
        }
    }
}

}  // namespace lapidary::audio
