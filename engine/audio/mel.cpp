#include "audio/mel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace lapidary::audio {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

double mel_of(double hertz) {
    return 2595 * std::log10(1 + hertz / 700);
}
double hertz_of(double mel) {
    return 700 * (std::pow(10.0, mel / 2595) - 1);
}

}  // namespace

LogMel::LogMel() : window_(kFrame), cosine_(kFft / 2), sine_(kFft / 2), bands_(kMelBands) {
    for (uint32_t i = 0; i < kFrame; ++i) window_[i] = 0.5 - 0.5 * std::cos(kTurn * i / kFrame);
    for (uint32_t i = 0; i < kFft / 2; ++i) {
        cosine_[i] = std::cos(kTurn * i / kFft);
        sine_[i] = std::sin(kTurn * i / kFft);
    }
    // Each band rises from the middle of the one before to its own and falls to that of the one after; the middles are
    // equally far apart as people hear it.
    const auto edge = [](uint32_t i) { return hertz_of(mel_of(kRate / 2.0) * i / (kMelBands + 1)); };
    for (uint32_t m = 0; m < kMelBands; ++m) {
        const double low = edge(m);
        const double middle = edge(m + 1);
        const double high = edge(m + 2);
        Band& band = bands_[m];
        for (uint32_t k = 0; k < kBins; ++k) {
            const double hertz = double(k) * kRate / kFft;
            const double weight = std::min((hertz - low) / (middle - low), (high - hertz) / (high - middle));
            if (weight <= 0) continue;
            if (band.weights.empty()) band.first = k;
            band.weights.push_back(weight);
        }
    }
}

uint32_t LogMel::frames(uint64_t samples) {
    // Half a frame of silence stands before the sound, and a frame wants one sample more than it uses.
    const uint64_t padded = samples + kHop;
    return padded < kFrame + 1 ? 0 : uint32_t((padded - kFrame - 1) / kHop + 1);
}

void LogMel::transform(std::span<double> re, std::span<double> im) const {
    for (uint32_t i = 1, j = 0; i < kFft; ++i) {
        uint32_t bit = kFft / 2;
        for (; (j & bit) != 0; bit /= 2) j ^= bit;
        j ^= bit;
        if (i < j) {
            std::swap(re[i], re[j]);
            std::swap(im[i], im[j]);
        }
    }
    for (uint32_t size = 2; size <= kFft; size *= 2) {
        const uint32_t half = size / 2;
        for (uint32_t begin = 0; begin < kFft; begin += size) {
            for (uint32_t i = 0; i < half; ++i) {
                const double c = cosine_[i * (kFft / size)];
                const double s = -sine_[i * (kFft / size)];
                const uint32_t a = begin + i;
                const uint32_t b = a + half;
                const double r = re[b] * c - im[b] * s;
                const double t = re[b] * s + im[b] * c;
                re[b] = re[a] - r;
                im[b] = im[a] - t;
                re[a] += r;
                im[a] += t;
            }
        }
    }
}

std::vector<float> LogMel::features(std::span<const float> x) const {
    const uint32_t count = frames(x.size());
    std::vector<float> out(size_t{count} * kMelBands);
    std::array<double, kFft> re{};
    std::array<double, kFft> im{};
    std::array<double, kBins> loudness{};
    for (uint32_t t = 0; t < count; ++t) {
        re.fill(0);
        im.fill(0);
        for (uint32_t i = 0; i < kFrame; ++i) {
            const uint64_t at = uint64_t{kHop} * t + i;  // in the padded sound
            if (at >= kHop) re[i] = double(x[size_t(at - kHop)]) * window_[i];
        }
        transform(re, im);
        for (uint32_t k = 0; k < kBins; ++k) loudness[k] = std::sqrt(re[k] * re[k] + im[k] * im[k]);
        for (uint32_t m = 0; m < kMelBands; ++m) {
            const Band& band = bands_[m];
            double sum = 0;
            for (size_t i = 0; i < band.weights.size(); ++i) sum += band.weights[i] * loudness[band.first + i];
            out[size_t{t} * kMelBands + m] = float(std::log(sum + 0.001));
        }
    }
    return out;
}

}  // namespace lapidary::audio
