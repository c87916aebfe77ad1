#include "towers/vision_forward.h"

#include <algorithm>
#include <cmath>

#include "reference/ops.h"

namespace lapidary::towers {
namespace {

constexpr double kRopeBase = 100;
// Of the norm before the projection; that of layers is the file's.
constexpr float kProjectionEpsilon = 1e-6f;

float activated(float x, Activation activation) {
    return activation == Activation::gelu ? reference::gelu(x) : x / (1.0f + std::exp(-1.702f * x));
}

}  // namespace

Status check_shown(const VisionConfig& config, uint32_t width, uint32_t height) {
    const uint32_t side = config.side();
    if (width == 0 || height == 0 || width % side != 0 || height % side != 0) {
        return fail(Code::invalid_argument, "a picture of {} × {} pixels is not made of squares of {}", width, height,
                    side);
    }
    if (std::max(width, height) / config.patch > config.positions) {
        return fail(Code::limit,
                    "a picture of {} × {} pixels has {} patches on a side and this model has positions for {}: use a "
                    "smaller budget, or cut the picture",
                    width, height, std::max(width, height) / config.patch, config.positions);
    }
    return {};
}

std::vector<float> patches_of(const VisionConfig& config, const Shown& shown) {
    const uint32_t p = config.patch;
    const uint32_t nx = shown.width / p;
    const uint32_t ny = shown.height / p;
    const bool centred = config.kind == VisionKind::gemma4v;
    std::vector<float> out;
    out.reserve(size_t{nx} * ny * config.patch_values());
    for (uint32_t patch = 0; patch < nx * ny; ++patch) {
        const size_t left = size_t{patch % nx} * p;
        const size_t top = size_t{patch / nx} * p;
        for (size_t c = 0; c < 3; ++c) {
            for (size_t y = 0; y < p; ++y) {
                for (size_t x = 0; x < p; ++x) {
                    const float level = float(shown.rgb[((top + y) * shown.width + left + x) * 3 + c]) / 255.0f;
                    out.push_back(centred ? 2 * level - 1 : level);
                }
            }
        }
    }
    return out;
}

std::vector<double> turning_rates(const VisionConfig& config) {
    return reference::rope_frequencies(config.head_dim / 2, kRopeBase, {});
}

std::vector<float> VisionForward::normed(std::span<const float> x, const Weight& norm) const {
    std::vector<float> y(x.size());
    const std::vector<float> w = weights_->vector(norm);
    reference::rms_norm(x, w, uint32_t(w.size()), tower_.config.norm_epsilon, y);
    return y;
}

Task<Result<std::vector<float>>> VisionForward::run(Shown shown, Listener listener) const {
    const VisionTable& table = tower_.table;
    std::vector<float> h = CO_TRY(co_await embedded(shown, listener));
    for (uint32_t i = 0; i < table.layers.size(); ++i) {
        CO_TRY(co_await layer(table.layers[i], shown, h, listener.breathe));
        if (i == 0) listener.tell("layer0", h);
        if (listener.progress) listener.progress(i + 1, table.layers.size());
    }
    co_return co_await finished(shown, std::move(h), listener);
}

Task<Result<std::vector<float>>> VisionForward::finished(Shown shown, std::vector<float> h,
                                                         const Listener& listener) const {
    const VisionConfig& config = tower_.config;
    const VisionTable& table = tower_.table;
    if (config.kind == VisionKind::gemma4v) {
        listener.tell("last", h);
        h = pooled(shown, h);
        listener.tell("pooled", h);
    }
    if (table.std_bias.present()) {
        const std::vector<float> bias = weights_->vector(table.std_bias);
        const std::vector<float> scale = weights_->vector(table.std_scale);
        for (size_t i = 0; i < h.size(); ++i) h[i] = (h[i] - bias[i % bias.size()]) * scale[i % scale.size()];
    }
    reference::rms_norm(h, {}, config.width, kProjectionEpsilon, h);
    co_return co_await products_->apply(table.projection, h, listener.breathe);
}

Task<Result<std::vector<float>>> VisionForward::embedded(Shown shown, const Listener& listener) const {
    const VisionConfig& config = tower_.config;
    const VisionTable& table = tower_.table;
    CO_TRY(check_shown(config, shown.width, shown.height));
    const bool unified = config.kind == VisionKind::gemma4uv;
    const auto norm = [&](const Affine& affine, std::span<float> x) {
        layer_norm(x, weights_->vector(affine.weight), weights_->vector(affine.bias), config.norm_epsilon);
    };
    std::vector<float> values = patches_of(config, shown);
    if (unified) norm(table.patch_norm[0], values);
    const Linear patch_embd = unclipped(table.patch_embd.weight);
    std::vector<float> h = CO_TRY(co_await products_->apply(patch_embd, values, listener.breathe));
    if (unified) {
        const std::vector<float> bias = weights_->vector(table.patch_embd.bias);
        for (size_t i = 0; i < h.size() && !bias.empty(); ++i) h[i] += bias[i % bias.size()];
        norm(table.patch_norm[1], h);
        listener.tell("patch", h);
    }
    const uint32_t nx = shown.width / config.patch;
    const uint32_t ny = shown.height / config.patch;
    const std::vector<float> across = CO_TRY(co_await products_->rows(table.position_embd, 0, nx));
    const std::vector<float> down = CO_TRY(co_await products_->rows(table.position_embd, config.positions, ny));
    for (size_t at = 0; at < h.size(); ++at) {
        const size_t patch = at / config.width;
        const size_t i = at % config.width;
        h[at] += across[patch % nx * config.width + i];
        h[at] += down[patch / nx * config.width + i];
    }
    if (unified) {
        norm(table.patch_norm[2], h);
        listener.tell("pos", h);
    } else {
        listener.tell("patch", h);
    }
    co_return h;
}

// h += rms(attention(rms(h))); h += rms(ffn(rms(h)))
Task<Status> VisionForward::layer(const VisionLayer& layer, Shown shown, std::span<float> h,
                                  const Breathe& breathe) const {
    const float eps = tower_.config.norm_epsilon;
    const std::vector<float> x = normed(h, layer.ln1);
    const std::vector<float> attended = CO_TRY(co_await attention(layer, shown, x, breathe));
    reference::add_rms_norm(CO_TRY(co_await products_->apply(layer.out, attended, breathe)),
                            weights_->vector(layer.attn_post_norm), eps, h);
    const std::vector<float> u = normed(h, layer.ln2);
    std::vector<float> gate = CO_TRY(co_await products_->apply(layer.gate, u, breathe));
    const std::vector<float> up = CO_TRY(co_await products_->apply(layer.up, u, breathe));
    for (size_t i = 0; i < gate.size(); ++i) gate[i] = activated(gate[i], activation_) * up[i];
    reference::add_rms_norm(CO_TRY(co_await products_->apply(layer.down, gate, breathe)),
                            weights_->vector(layer.ffn_post_norm), eps, h);
    if (layer.out_scale.present()) {
        const float scale = weights_->vector(layer.out_scale)[0];
        for (float& v : h) v *= scale;
    }
    co_return Status{};
}

// Every patch sees every other one; scores are not divided.
Task<Result<std::vector<float>>> VisionForward::attention(const VisionLayer& layer, Shown shown,
                                                          std::span<const float> x, const Breathe& breathe) const {
    const VisionConfig& config = tower_.config;
    std::vector<float> q = CO_TRY(co_await products_->apply(layer.q, x, breathe));
    std::vector<float> k = CO_TRY(co_await products_->apply(layer.k, x, breathe));
    std::vector<float> v = CO_TRY(co_await products_->apply(layer.v, x, breathe));
    reference::rms_norm(q, weights_->vector(layer.q_norm), config.head_dim, config.norm_epsilon, q);
    reference::rms_norm(k, weights_->vector(layer.k_norm), config.head_dim, config.norm_epsilon, k);
    reference::rms_norm(v, {}, config.head_dim, config.norm_epsilon, v);
    rotate(q, shown);
    rotate(k, shown);
    const auto patches = uint32_t(x.size() / config.width);
    std::vector<float> out(x.size());
    for (uint32_t i = 0; i < patches; ++i) {
        const size_t at = size_t{i} * config.width;
        reference::attention({config.heads, config.heads, config.head_dim}, std::span(q).subspan(at, config.width), k,
                             v, 0, patches, std::span(out).subspan(at, config.width));
        if (breathe) CO_TRY(co_await breathe());
    }
    co_return out;
}

// The first half of a head turns with the patch's column, the second with its row.
void VisionForward::rotate(std::span<float> x, Shown shown) const {
    const VisionConfig& config = tower_.config;
    const uint32_t half = config.head_dim / 2;
    const std::vector<double> frequencies = turning_rates(config);
    const uint32_t nx = shown.width / config.patch;
    for (size_t at = 0; at < x.size(); at += half) {
        const auto patch = uint32_t(at / config.width);
        const bool second = at / half % 2 == 1;
        reference::rope(x.subspan(at, half), half, second ? patch / nx : patch % nx, frequencies);
    }
}

// The mean of pooling × pooling patches, times √width.
std::vector<float> VisionForward::pooled(Shown shown, std::span<const float> h) const {
    const VisionConfig& config = tower_.config;
    const size_t d = config.width;
    const uint32_t side = config.pooling;
    const uint32_t nx = shown.width / config.patch;
    const uint32_t columns = nx / side;
    std::vector<float> out(h.size() / (size_t{side} * side));
    for (size_t patch = 0; patch < h.size() / d; ++patch) {
        const size_t token = patch / nx / side * columns + patch % nx / side;
        for (size_t i = 0; i < d; ++i) out[token * d + i] += h[patch * d + i];
    }
    const float scale = std::sqrt(float(d)) / float(side * side);
    for (float& v : out) v *= scale;
    return out;
}

}  // namespace lapidary::towers
