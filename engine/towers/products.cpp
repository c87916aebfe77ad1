#include "towers/products.h"

#include "towers/linear.h"

namespace lapidary::towers {
namespace {

class CpuProducts : public Products {
  public:
    explicit CpuProducts(std::shared_ptr<const reference::Weights> weights) : weights_(std::move(weights)) {}

    Task<Result<std::vector<float>>> apply(const Linear& linear, std::span<const float> x,
                                           Breathe breathe) const override {
        const ClippedMatrix w = CO_TRY(loaded(linear, *weights_));
        co_return co_await towers::apply(w, x, std::move(breathe));
    }

    Task<Result<std::vector<float>>> rows(const Weight& table, uint64_t first, uint64_t count) const override {
        co_return weights_->matrix(table).slice(first, count).decode();
    }

  private:
    std::shared_ptr<const reference::Weights> weights_;
};

}  // namespace

std::unique_ptr<const Products> cpu_products(std::shared_ptr<const reference::Weights> weights) {
    return std::make_unique<CpuProducts>(std::move(weights));
}

std::vector<Linear> linears_of(const VisionTable& table) {
    std::vector<Linear> out = {unclipped(table.patch_embd.weight), table.projection};
    for (const VisionLayer& layer : table.layers) {
        out.insert(out.end(), {layer.q, layer.k, layer.v, layer.out, layer.gate, layer.up, layer.down});
    }
    return out;
}

std::vector<Linear> linears_of(const AudioTable& table) {
    std::vector<Linear> out = {unclipped(table.projection)};
    for (const AudioTable::Convolution& conv : table.conv) out.push_back(unclipped(conv.weight));
    out.push_back(unclipped(table.input_projection));
    for (const AudioLayer& layer : table.layers) {
        out.insert(out.end(), {layer.ffn1.up, layer.ffn1.down, layer.q, layer.k, layer.v, layer.out,
                               unclipped(layer.k_rel), layer.conv_pw1, layer.conv_pw2, layer.ffn2.up, layer.ffn2.down});
    }
    out.push_back(unclipped(table.output_projection.weight));
    std::erase_if(out, [](const Linear& linear) { return !linear.weight.present(); });
    return out;
}

}  // namespace lapidary::towers
