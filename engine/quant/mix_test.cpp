#include "quant/mix.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "quant/encode.h"

namespace lapidary::quant {
namespace {

// A model as a list of names and shapes, all BF16 as the originals are.
class Model {
  public:
    explicit Model(uint32_t n_layer) : n_layer_(n_layer) {}

    void add(std::string name, std::vector<uint64_t> ne) { tensors_.push_back({std::move(name), std::move(ne)}); }
    void add_to_layer(uint32_t layer, std::string_view name, std::vector<uint64_t> ne) {
        add("blk." + std::to_string(layer) + "." + std::string(name), std::move(ne));
    }

    [[nodiscard]] std::map<std::string, TensorType> types(Mix mix) const {
        std::vector<MixTensor> list;
        list.reserve(tensors_.size());
        for (const auto& [name, ne] : tensors_) list.push_back({name, ne, TensorType::bf16});
        const auto chosen = choose_types(mix, list, n_layer_);
        std::map<std::string, TensorType> result;
        for (size_t i = 0; i < chosen.size(); ++i) {
            const auto& ne = tensors_[i].second;
            EXPECT_TRUE(can_encode(chosen[i])) << tensors_[i].first;
            EXPECT_EQ(ne[0] % tensor_type_info(chosen[i]).block_elements, 0u) << tensors_[i].first;
            result[tensors_[i].first] = chosen[i];
        }
        return result;
    }

    [[nodiscard]] std::map<std::string_view, int> counts(Mix mix) const {
        std::map<std::string_view, int> result;
        for (const auto& [name, type] : types(mix)) ++result[tensor_type_name(type)];
        return result;
    }

  private:
    uint32_t n_layer_;
    std::vector<std::pair<std::string, std::vector<uint64_t>>> tensors_;
};

Model e4b() {
    Model model(42);
    model.add("token_embd.weight", {2560, 262144});
    model.add("per_layer_token_embd.weight", {42 * 256, 262144});
    model.add("per_layer_model_proj.weight", {2560, 42 * 256});
    model.add("per_layer_proj_norm.weight", {256});
    model.add("output_norm.weight", {2560});
    model.add("rope_freqs.weight", {256});
    for (uint32_t layer = 0; layer < 42; ++layer) {
        const uint64_t head = layer % 6 == 5 ? 512 : 256;
        model.add_to_layer(layer, "attn_q.weight", {2560, 8 * head});
        model.add_to_layer(layer, "attn_k.weight", {2560, 2 * head});
        model.add_to_layer(layer, "attn_v.weight", {2560, 2 * head});
        model.add_to_layer(layer, "attn_output.weight", {8 * head, 2560});
        model.add_to_layer(layer, "ffn_gate.weight", {2560, 10240});
        model.add_to_layer(layer, "ffn_up.weight", {2560, 10240});
        model.add_to_layer(layer, "ffn_down.weight", {10240, 2560});
        model.add_to_layer(layer, "inp_gate.weight", {2560, 256});
        model.add_to_layer(layer, "proj.weight", {256, 2560});
        for (const char* norm : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm"}) {
            model.add_to_layer(layer, std::string(norm) + ".weight", {2560});
        }
        model.add_to_layer(layer, "attn_q_norm.weight", {head});
        model.add_to_layer(layer, "attn_k_norm.weight", {head});
        model.add_to_layer(layer, "layer_output_scale.weight", {1});
    }
    return model;
}

Model a4b() {
    Model model(30);
    model.add("token_embd.weight", {2816, 262144});
    model.add("output_norm.weight", {2816});
    model.add("rope_freqs.weight", {256});
    for (uint32_t layer = 0; layer < 30; ++layer) {
        const bool global = layer % 6 == 5;  // these five have no value projection of their own
        const uint64_t head = global ? 512 : 256;
        model.add_to_layer(layer, "attn_q.weight", {2816, 16 * head});
        model.add_to_layer(layer, "attn_k.weight", {2816, 2 * head});
        if (!global) model.add_to_layer(layer, "attn_v.weight", {2816, 8 * head});
        model.add_to_layer(layer, "attn_output.weight", {16 * head, 2816});
        model.add_to_layer(layer, "ffn_gate.weight", {2816, 2112});
        model.add_to_layer(layer, "ffn_up.weight", {2816, 2112});
        model.add_to_layer(layer, "ffn_down.weight", {2112, 2816});
        model.add_to_layer(layer, "ffn_gate_inp.weight", {2816, 128});
        model.add_to_layer(layer, "ffn_gate_inp.scale", {2816});
        model.add_to_layer(layer, "ffn_gate_up_exps.weight", {2816, 1408, 128});
        model.add_to_layer(layer, "ffn_down_exps.weight", {704, 2816, 128});
        model.add_to_layer(layer, "attn_norm.weight", {2816});
    }
    return model;
}

TEST(QuantMix, ReproducesThePublishedCountsOfE4b) {
    const auto counts = e4b().counts(Mix::q4_k_m);
    EXPECT_EQ(counts.at("Q6_K"), 44);
    EXPECT_EQ(counts.at("Q4_K"), 336);
    EXPECT_EQ(counts.at("F32"), 339);
    EXPECT_EQ(counts.at("BF16"), 1);
    EXPECT_EQ(counts.size(), 4u);

    int down = 0;
    int value = 0;
    for (const auto& [name, type] : e4b().types(Mix::q4_k_m)) {
        if (type != TensorType::q6_k) continue;
        down += name.ends_with("ffn_down.weight") ? 1 : 0;
        value += name.ends_with("attn_v.weight") ? 1 : 0;
    }
    EXPECT_EQ(down, 21);
    EXPECT_EQ(value, 21);
}

TEST(QuantMix, ReproducesThePublishedCountsOf26bA4b) {
    const auto counts = a4b().counts(Mix::q4_k_m);
    EXPECT_EQ(counts.at("Q5_0"), 32);
    EXPECT_EQ(counts.at("Q8_0"), 28);
    EXPECT_EQ(counts.at("Q6_K"), 14);
    EXPECT_EQ(counts.at("Q4_K"), 192);
}

TEST(QuantMix, KeepsTheHeadFinerThanTheRest) {
    const auto q4_0 = e4b().counts(Mix::q4_0);
    EXPECT_EQ(q4_0.at("Q6_K"), 2);
    EXPECT_EQ(q4_0.at("Q4_0"), 378);
    const auto q8_0 = e4b().counts(Mix::q8_0);
    EXPECT_EQ(q8_0.at("Q8_0"), 380);
    EXPECT_EQ(q8_0.count("Q6_K"), 0u);
}

TEST(QuantMix, GivesAHeadOfItsOwnTheFinerType) {
    const uint64_t ne[] = {2560, 262144};
    const MixTensor tensors[] = {{"token_embd.weight", ne, TensorType::bf16}, {"output.weight", ne, TensorType::bf16}};
    const auto types = choose_types(Mix::q4_k_m, tensors, 42);
    EXPECT_EQ(types[0], TensorType::q4_k);
    EXPECT_EQ(types[1], TensorType::q6_k);
}

TEST(QuantMix, WritesFloatsWithoutExceptionsForTheHead) {
    for (const auto& [mix, name] : {std::pair{Mix::f16, "F16"}, {Mix::bf16, "BF16"}, {Mix::f32, "F32"}}) {
        EXPECT_EQ(e4b().types(mix).at("token_embd.weight"), e4b().types(mix).at("blk.0.attn_q.weight"));
        EXPECT_GE(e4b().counts(mix).at(name), 380);
    }
}

TEST(QuantMix, LeavesSmallAndSensitiveTensorsAlone) {
    const uint64_t matrix[] = {2560, 2560};
    const uint64_t column[] = {2560, 1};
    const auto choose = [](std::string_view name, std::span<const uint64_t> ne, TensorType source) {
        return choose_type(Mix::q4_k_m, name, ne, source, {.n_layer = 42});
    };
    EXPECT_EQ(choose("blk.0.attn_norm.weight", matrix, TensorType::bf16), TensorType::f32);
    EXPECT_EQ(choose("blk.0.attn_q.weight", column, TensorType::bf16), TensorType::f32);
    EXPECT_EQ(choose("blk.0.attn_q.weight", {}, TensorType::f16), TensorType::f32);
    EXPECT_EQ(choose("blk.0.ffn_gate_inp.weight", matrix, TensorType::f32), TensorType::f32);
    EXPECT_EQ(choose("per_layer_model_proj.weight", matrix, TensorType::f16), TensorType::f16);
    EXPECT_EQ(choose("blk.0.attn_q.bias", matrix, TensorType::f32), TensorType::f32);
    EXPECT_EQ(choose("v.blk.0.attn_v.weight", matrix, TensorType::f16), TensorType::f16);
    EXPECT_EQ(choose("a.blk.0.ffn_up.weight", matrix, TensorType::bf16), TensorType::bf16);
    EXPECT_EQ(choose("v.patch_embd.weight", matrix, TensorType::f16), TensorType::f16);
    EXPECT_EQ(choose("blk.0.attn_q.weight", matrix, TensorType::bf16), TensorType::q4_k);
}

TEST(QuantMix, FallsBackWhereBlocksDoNotDivideTheRow) {
    const auto choose = [](Mix mix, std::string_view name, uint64_t row) {
        const uint64_t ne[] = {row, 64};
        return choose_type(mix, name, ne, TensorType::f32, {.n_layer = 32});
    };
    EXPECT_EQ(choose(Mix::q4_k_m, "blk.9.attn_q.weight", 288), TensorType::q5_0);
    EXPECT_EQ(choose(Mix::q4_k_m, "blk.0.ffn_down.weight", 288), TensorType::q8_0);
    EXPECT_EQ(choose(Mix::q4_k_m, "token_embd.weight", 288), TensorType::q8_0);
    EXPECT_EQ(choose(Mix::q4_k_m, "blk.9.attn_q.weight", 100), TensorType::f16);
    EXPECT_EQ(choose(Mix::q4_0, "blk.9.attn_q.weight", 100), TensorType::f16);
    EXPECT_EQ(choose(Mix::q8_0, "blk.9.attn_q.weight", 100), TensorType::f16);
    EXPECT_EQ(choose(Mix::bf16, "blk.9.attn_q.weight", 99), TensorType::bf16);
}

TEST(QuantMix, CountsOnlyTheTextModelsValueProjections) {
    EXPECT_TRUE(is_attn_v("blk.0.attn_v.weight"));
    EXPECT_TRUE(is_attn_v("blk.41.attn_v.weight"));
    for (const char* other :
         {"v.blk.0.attn_v.weight", "blk.0.attn_v_norm.weight", "blk.0.attn_v.bias", "blk..attn_v.weight",
          "blk.x.attn_v.weight", "blk.99999999999999999999.attn_v.weight", "blk.", ""}) {
        EXPECT_FALSE(is_attn_v(other)) << other;
    }
}

TEST(QuantMix, NamesItsMixes) {
    EXPECT_EQ(find_mix("Q4_K_M"), Mix::q4_k_m);
    EXPECT_EQ(find_mix("BF16"), Mix::bf16);
    const auto unknown = find_mix("Q3_K_L");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().message,
              "there is no quantisation 'Q3_K_L'; there are F32, F16, BF16, Q8_0, Q4_0 and Q4_K_M");
}

}  // namespace
}  // namespace lapidary::quant
