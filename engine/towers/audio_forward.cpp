#include "towers/audio_forward.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "quant/dot.h"
#include "reference/ops.h"

namespace lapidary::towers {
namespace {

// That a convolution takes together: what it sees of them is nine times as large as they are.
constexpr size_t kMoments = 64;

float sigmoid(float x) {
    return 1.0f / (1.0f + std::exp(-x));
}

// Frames that a convolution of stride 2 leaves.
uint64_t halved(uint64_t n) {
    return n == 0 ? 0 : (n - 1) / 2 + 1;
}

}  // namespace

uint64_t audio_tokens(const AudioConfig& config, uint64_t count) {
    if (config.kind == AudioKind::gemma4ua) return (count + config.frame - 1) / config.frame;
    return halved(halved(count));
}

float query_scale(const AudioConfig& config) {
    return 1.0f / (std::sqrt(float(config.head_dim)) * std::numbers::ln2_v<float>);
}

float key_scale() {
    return float(std::log(1 + std::numbers::e) / std::numbers::ln2);
}

std::vector<float> distance_waves(uint32_t width) {
    const uint32_t half = width / 2;
    std::vector<float> out;
    for (uint32_t distance = 0; distance < kPastFrames; ++distance) {
        const auto angle = [&](uint32_t i) { return distance * std::exp(-double(i) * std::log(10000.0) / (half - 1)); };
        for (uint32_t i = 0; i < half; ++i) out.push_back(float(std::sin(angle(i))));
        for (uint32_t i = 0; i < half; ++i) out.push_back(float(std::cos(angle(i))));
    }
    return out;
}

Task<Result<std::vector<float>>> AudioForward::product(const Weight& weight, std::span<const float> x,
                                                       const Breathe& breathe) const {
    const Linear linear = unclipped(weight);
    co_return co_await products_->apply(linear, x, breathe);
}

std::vector<float> AudioForward::normed(std::span<const float> x, const Weight& norm) const {
    std::vector<float> y(x.size());
    const std::vector<float> w = weights_->vector(norm);
    reference::rms_norm(x, w, uint32_t(w.size()), tower_.config.norm_epsilon, y);
    return y;
}

Task<Result<std::vector<float>>> AudioForward::run(std::span<const float> input, Listener listener) const {
    const AudioConfig& config = tower_.config;
    const AudioTable& table = tower_.table;
    if (config.kind == AudioKind::gemma4ua) {
        std::vector<float> frames(input.begin(), input.end());
        frames.resize(size_t(audio_tokens(config, input.size())) * config.frame);
        reference::rms_norm(frames, {}, config.frame, config.norm_epsilon, frames);
        co_return co_await product(table.projection, frames, listener.breathe);
    }
    std::vector<float> x(input.begin(), input.end());
    uint32_t before = 1;
    uint32_t bins = config.mel_bins;
    for (const AudioTable::Convolution& conv : table.conv) {
        x = CO_TRY(co_await convolved(conv, before, bins, x, listener.breathe));
        before = uint32_t(conv.weight.rows);
        bins /= 2;
    }
    x = CO_TRY(co_await product(table.input_projection, x, listener.breathe));
    listener.tell("sub", x);
    for (uint32_t i = 0; i < table.layers.size(); ++i) {
        CO_TRY(co_await layer(table.layers[i], x, listener.breathe));
        if (i == 0) listener.tell("layer0", x);
        if (listener.progress) listener.progress(i + 1, table.layers.size());
    }
    std::vector<float> z = CO_TRY(co_await product(table.output_projection.weight, x, listener.breathe));
    const std::vector<float> bias = weights_->vector(table.output_projection.bias);
    for (size_t i = 0; i < z.size() && !bias.empty(); ++i) z[i] += bias[i % bias.size()];
    listener.tell("enc", z);
    reference::rms_norm(z, {}, config.projected, config.norm_epsilon, z);
    co_return co_await product(table.projection, z, listener.breathe);
}

// x: [time, bins, before] → [time / 2, bins / 2, channels], rounded up: 3 × 3 with a stride of 2 and zeros around, a norm over the
// channels, and nothing below zero.
Task<Result<std::vector<float>>> AudioForward::convolved(const AudioTable::Convolution& conv, uint32_t before,
                                                         uint32_t bins, std::span<const float> x,
                                                         const Breathe& breathe) const {
    const size_t time = x.size() / (size_t{bins} * before);
    const size_t half = bins / 2;
    const std::vector<float> norm = weights_->vector(conv.norm);
    const auto moments = size_t(halved(time));
    std::vector<float> out;
    std::vector<float> seen;  // of every result of some moments: [channel, time, frequency]
    for (size_t first = 0; first < moments; first += kMoments) {
        const size_t some = std::min(kMoments, moments - first);
        seen.assign(some * half * size_t(conv.weight.cols), 0.0f);
        size_t at = 0;
        for (size_t result = 0; result < some * half; ++result) {
            const size_t t = first + result / half;
            const size_t f = result % half;
            for (size_t c = 0; c < before; ++c) {
                for (size_t tap = 0; tap < 9; ++tap) {
                    const size_t from_t = 2 * t + tap / 3;  // one more than the place
                    const size_t from_f = 2 * f + tap % 3;
                    const bool inside = from_t >= 1 && from_t <= time && from_f >= 1 && from_f <= bins;
                    seen[at++] = inside ? x[((from_t - 1) * bins + from_f - 1) * before + c] : 0.0f;
                }
            }
        }
        std::vector<float> made = CO_TRY(co_await product(conv.weight, seen, breathe));
        layer_norm(made, norm, {}, tower_.config.norm_epsilon);
        for (const float v : made) out.push_back(std::max(v, 0.0f));
    }
    co_return out;
}

Task<Status> AudioForward::layer(const AudioLayer& layer, std::span<float> x, const Breathe& breathe) const {
    CO_TRY(co_await feed_forward(layer.ffn1, x, breathe));
    const std::vector<float> attended = CO_TRY(co_await attention(layer, normed(x, layer.attn_pre_norm), breathe));
    reference::add_rms_norm(CO_TRY(co_await products_->apply(layer.out, attended, breathe)),
                            weights_->vector(layer.attn_post_norm), tower_.config.norm_epsilon, x);
    CO_TRY(co_await convolution(layer, x, breathe));
    CO_TRY(co_await feed_forward(layer.ffn2, x, breathe));
    std::ranges::copy(normed(x, layer.output_norm), x.begin());
    co_return Status{};
}

// x += rms(down · silu(up · rms(x))) / 2
Task<Status> AudioForward::feed_forward(const FeedForward& ffn, std::span<float> x, const Breathe& breathe) const {
    const std::vector<float> in = normed(x, ffn.norm);
    std::vector<float> up = CO_TRY(co_await products_->apply(ffn.up, in, breathe));
    for (float& v : up) v *= sigmoid(v);
    const std::vector<float> y = normed(CO_TRY(co_await products_->apply(ffn.down, up, breathe)), ffn.post_norm);
    for (size_t i = 0; i < y.size(); ++i) x[i] += 0.5f * y[i];
    co_return Status{};
}

// A frame hears itself and the eleven before it; the score knows how far apart they are.
Task<Result<std::vector<float>>> AudioForward::attention(const AudioLayer& layer, std::span<const float> x,
                                                         const Breathe& breathe) const {
    const AudioConfig& config = tower_.config;
    const size_t d = config.width;
    const size_t hd = config.head_dim;
    std::vector<float> q = CO_TRY(co_await products_->apply(layer.q, x, breathe));
    std::vector<float> k = CO_TRY(co_await products_->apply(layer.k, x, breathe));
    const std::vector<float> v = CO_TRY(co_await products_->apply(layer.v, x, breathe));
    const std::vector<float> per_dim = weights_->vector(layer.per_dim_scale);
    for (size_t i = 0; i < q.size(); ++i) q[i] *= query_scale(config) * per_dim[i % hd];
    for (float& value : k) value *= key_scale();
    const std::vector<float> waves = distance_waves(config.width);
    const std::vector<float> far = CO_TRY(co_await product(layer.k_rel, waves, breathe));

    std::vector<float> out(x.size());
    for (size_t i = 0; i < x.size() / d; ++i) {
        const size_t first = i + 1 < kPastFrames ? 0 : i + 1 - kPastFrames;
        for (size_t head = 0; head < d; head += hd) {
            const auto query = std::span(q).subspan(i * d + head, hd);
            std::vector<float> weights;
            for (size_t j = first; j <= i; ++j) {
                const float near = quant::dot(query, std::span(k).subspan(j * d + head, hd));
                weights.push_back(near + quant::dot(query, std::span(far).subspan((i - j) * d + head, hd)));
            }
            reference::softcap(weights, kScoreCap);
            reference::softmax(weights);
            for (size_t j = first; j <= i; ++j) {
                for (size_t n = 0; n < hd; ++n) out[i * d + head + n] += weights[j - first] * v[j * d + head + n];
            }
        }
        if (breathe) CO_TRY(co_await breathe());
    }
    co_return out;
}

// x += pw2(silu(rms(depthwise(glu(pw1(rms(x)))))))
Task<Status> AudioForward::convolution(const AudioLayer& layer, std::span<float> x, const Breathe& breathe) const {
    const size_t d = tower_.config.width;
    const size_t taps = tower_.config.kernel;
    const std::vector<float> both =
        CO_TRY(co_await products_->apply(layer.conv_pw1, normed(x, layer.conv_norm), breathe));
    std::vector<float> gated(x.size());
    for (size_t i = 0; i < gated.size(); ++i) {
        const size_t row = i / d * 2 * d;
        gated[i] = both[row + i % d] * sigmoid(both[row + d + i % d]);
    }
    const std::vector<float> weights = weights_->vector(layer.conv_dw);  // [d, taps]
    std::vector<float> heard(x.size());
    for (size_t i = 0; i < heard.size(); ++i) {
        const size_t t = i / d;
        const size_t channel = i % d;
        for (size_t tap = 0; tap < taps; ++tap) {
            if (t + tap + 1 < taps) continue;  // before the beginning
            heard[i] += weights[channel * taps + tap] * gated[(t + tap + 1 - taps) * d + channel];
        }
    }
    heard = normed(heard, layer.norm_conv);
    for (float& v : heard) v *= sigmoid(v);
    const std::vector<float> y = CO_TRY(co_await products_->apply(layer.conv_pw2, heard, breathe));
    for (size_t i = 0; i < y.size(); ++i) x[i] += y[i];
    co_return Status{};
}

}  // namespace lapidary::towers
