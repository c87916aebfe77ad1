// What a layer asks of its verbs, with verbs that compute nothing.
#include "infer/transformer_layer.h"

#include <gtest/gtest.h>

#include "model/blueprint.h"

namespace lapidary::infer {
namespace {

class IdleOps final : public Ops {
  public:
    gpu::Tensor linear(LinearOf, const Activation&) override { return tensor_; }
    Activation gelu_gate(LinearOf, const Activation&, LinearOf) override { return {.ready = tensor_}; }
    Activation gelu_times_input(LinearOf, const Activation&) override { return {.ready = tensor_}; }
    Activation attend(const Attention&, gpu::Tensor) override { return {.ready = tensor_}; }
    void store_keys(const Attention&, gpu::Tensor) override {}
    gpu::Tensor experts(const Experts&, gpu::Tensor) override { return tensor_; }
    gpu::Tensor add_rms_norm(Residual&, const Norm&, gpu::Tensor) override { return tensor_; }
    [[nodiscard]] bool adds_branches_at_once() const override { return false; }

  private:
    gpu::Tensor tensor_{.at = {1, 0, 64}};
};

// With what the layer's result is multiplied, by a layer whose weights are these.
float scale_of(const model::LayerWeights& weights, model::Region region) {
    model::Config config = *model::family_config("tiny-moe");
    config.layers.resize(1);
    model::WeightTable table;
    table.layers.push_back(weights);
    const LayerSource source{.config = config, .table = table, .vector = [](const model::Weight& weight) -> Norm {
                                 if (!weight.present()) return {};
                                 return {weight.name == "prompt" ? 0.25f : 0.5f};
                             }};
    IdleOps ops;
    Residual h(ops, {.at = {2, 0, 64}});
    TransformerLayer(source, 0).run(ops, h, {.kv = {{}}, .region = region});
    return h.pending().scale;
}

TEST(TransformerLayer, ScalesAPromptAndACanvasByTheirOwn) {
    const model::LayerWeights one{.layer_output_scale = {.name = "canvas", .cols = 1}};
    EXPECT_EQ(scale_of(one, model::Region::prompt), 0.5f);
    EXPECT_EQ(scale_of(one, model::Region::canvas), 0.5f);
    model::LayerWeights both = one;
    both.encoder_output_scale = {.name = "prompt", .cols = 1};
    EXPECT_EQ(scale_of(both, model::Region::prompt), 0.25f);
    EXPECT_EQ(scale_of(both, model::Region::canvas), 0.5f);
    EXPECT_EQ(scale_of({}, model::Region::prompt), 1.0f);
}

}  // namespace
}  // namespace lapidary::infer
