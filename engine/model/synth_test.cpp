#include "model/synth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gguf/file.h"
#include "model/weights.h"
#include "quant/decode.h"

namespace lapidary::model {
namespace {

using quant::Mix;

constexpr const char* kTiny[] = {"tiny-e2b", "tiny-31b", "tiny-moe"};
constexpr Mix kMixes[] = {Mix::f32, Mix::f16, Mix::bf16, Mix::q8_0, Mix::q4_0, Mix::q4_k_m};

class MemorySink final : public ByteSink {
  public:
    Bytes bytes;
    size_t fail_at = SIZE_MAX;  // a write that reaches this offset is refused

    Task<Status> write(uint64_t offset, Bytes piece, Cancel cancel) override {
        CO_TRY(cancel.check());
        if (offset + piece.size() > fail_at) co_return fail(Code::io, "the disk is full");
        EXPECT_EQ(offset, bytes.size()) << "pieces come one after the other";
        // Not insert(), which copies byte by byte: slow under sanitizers.
        bytes.resize(bytes.size() + piece.size());
        std::copy(piece.begin(), piece.end(), bytes.end() - ptrdiff_t(piece.size()));
        co_return Status{};
    }
};

Bytes make(const char* variant, Mix mix, uint64_t seed) {
    const auto plan = plan_synth(variant, mix);
    EXPECT_TRUE(plan) << plan.error().message;
    MemorySink sink;
    const auto status = write_synth(*plan, seed, sink, nullptr, {}, nullptr).run_now();
    EXPECT_TRUE(status && *status);
    EXPECT_EQ(sink.bytes.size(), plan->layout.file_size);
    return std::move(sink.bytes);
}

gguf::File open(Bytes bytes) {
    auto opened = gguf::File::open({std::make_shared<MemorySource>(std::move(bytes))}, {}).run_now();
    EXPECT_TRUE(opened && *opened) << (*opened).error().message;
    return **std::move(opened);
}

std::vector<float> decoded(const gguf::File& file, std::string_view name) {
    const gguf::FileTensor* tensor = file.find(name);
    EXPECT_NE(tensor, nullptr) << name;
    const auto bytes = **file.read(*tensor, 0, tensor->info.range.size, {}).run_now();
    std::vector<float> values(size_t(tensor->info.elements()));
    quant::decode(TensorType(tensor->info.type->id), bytes.data(), values);
    return values;
}

struct Statistics {
    double mean = 0;
    double deviation = 0;
    bool finite = true;
};

Statistics statistics(std::span<const float> values) {
    Statistics out;
    double squares = 0;
    for (const float v : values) {
        out.finite = out.finite && std::isfinite(v);
        out.mean += v / double(values.size());
        squares += double(v) * v / double(values.size());
    }
    out.deviation = std::sqrt(std::max(0.0, squares - out.mean * out.mean));
    return out;
}

TEST(Synth, MakesFilesThatAreFoundCompleteInEveryType) {
    for (const char* variant : kTiny) {
        for (const Mix mix : kMixes) {
            SCOPED_TRACE(format("{} {}", variant, int(mix)));
            const gguf::File file = open(make(variant, mix, 1));
            const auto config = read_config(file);
            ASSERT_TRUE(config) << config.error().message;
            EXPECT_EQ(config->name, "synthetic " + std::string(variant));
            EXPECT_EQ(config->width, 256u);
            EXPECT_EQ(config->vocabulary, 512u);
            const auto weights = find_weights(*config, [&](std::string_view name) -> const gguf::TensorInfo* {
                const gguf::FileTensor* tensor = file.find(name);
                return tensor == nullptr ? nullptr : &tensor->info;
            });
            ASSERT_TRUE(weights) << weights.error().message;
            EXPECT_EQ(weights->layers.front().is_moe(), std::string_view(variant) == "tiny-moe");
        }
    }
}

TEST(Synth, TypesAreThoseOfAQuantisedModel) {
    for (const char* variant : kTiny) {
        for (const Mix mix : kMixes) {
            const auto plan = *plan_synth(variant, mix);
            const auto parsed = gguf::parse_header(std::make_shared<Bytes>(plan.layout.header), plan.layout.file_size);
            ASSERT_TRUE(parsed) << parsed.error().message;
            const auto& header = std::get<gguf::Header>(*parsed);
            std::vector<quant::MixTensor> tensors;
            for (const gguf::TensorInfo& tensor : header.tensors) {
                const std::span<const uint64_t> ne(tensor.ne.data(), tensor.n_dims);
                tensors.push_back({tensor.name, ne, ne.size() == 1 ? TensorType::f32 : TensorType::bf16});
            }
            const auto types = quant::choose_types(mix, tensors, uint32_t(plan.config.layers.size()));
            for (size_t i = 0; i < types.size(); ++i) {
                EXPECT_EQ(TensorType(header.tensors[i].type->id), types[i]) << variant << " " << tensors[i].name;
            }
        }
    }
    const gguf::File file = open(make("tiny-e2b", Mix::q4_k_m, 1));
    EXPECT_EQ(file.find("token_embd.weight")->info.type->name, "Q6_K");
    EXPECT_EQ(file.find("per_layer_token_embd.weight")->info.type->name, "Q6_K");
    EXPECT_EQ(file.find("per_layer_model_proj.weight")->info.type->name, "BF16");
    EXPECT_EQ(file.find("blk.0.attn_q.weight")->info.type->name, "Q4_K");
    EXPECT_EQ(file.find("blk.0.attn_norm.weight")->info.type->name, "F32");
    EXPECT_EQ(file.metadata().integer("general.file_type"), 15);
}

TEST(Synth, WeightsKeepActivationsAtTheirSize) {
    for (const char* variant : kTiny) {
        for (const Mix mix : kMixes) {
            // What a mix does to numbers does not depend on the variant.
            if (mix != Mix::q4_k_m && variant != kTiny[2]) continue;
            const gguf::File file = open(make(variant, mix, 1));
            for (const gguf::FileTensor& tensor : file.tensors()) {
                const std::string name(tensor.info.name);
                if (tensor.info.n_dims < 2) continue;
                SCOPED_TRACE(format("{} {} {}", variant, tensor.info.type->name, name));
                const Statistics found = statistics(decoded(file, name));
                // The router's input comes divided by the root of the row length.
                const double aim = name.ends_with("ffn_gate_inp.weight") ? 1 : 1 / std::sqrt(double(tensor.info.ne[0]));
                EXPECT_TRUE(found.finite);
                EXPECT_GT(found.deviation, aim * 0.8);
                EXPECT_LT(found.deviation, aim * 1.25);
                EXPECT_LT(std::abs(found.mean), aim * 0.1);
            }
        }
    }
}

TEST(Synth, NormsAndScalesAreNearOne) {
    const gguf::File file = open(make("tiny-moe", Mix::q4_k_m, 1));
    for (const char* name : {"output_norm.weight", "blk.0.attn_norm.weight", "blk.1.attn_q_norm.weight",
                             "blk.2.post_ffw_norm_2.weight", "blk.0.ffn_gate_inp.scale", "blk.0.ffn_down_exps.scale"}) {
        const auto values = decoded(file, name);
        for (const float v : values) EXPECT_NEAR(v, 1, 0.2) << name;
        EXPECT_NE(values[0], values[1]) << name;
    }
    // Queries and keys of d elements, both of size 1, have products of size sqrt(d) unless one of the norms shrinks them.
    for (const float v : decoded(file, "blk.0.attn_k_norm.weight")) EXPECT_NEAR(v * 8, 1, 0.2);
    EXPECT_EQ(decoded(file, "blk.1.layer_output_scale.weight"), std::vector{1.0f});
}

TEST(Synth, RotatesTheFirstQuarterOfFullHeads) {
    const auto freqs = decoded(open(make("tiny-31b", Mix::q8_0, 1)), "rope_freqs.weight");
    ASSERT_EQ(freqs.size(), 64u);
    for (size_t i = 0; i < freqs.size(); ++i) EXPECT_EQ(freqs[i], i < 16 ? 1.0f : 1e30f) << i;
}

TEST(Synth, IsTheSameForTheSameSeedOnly) {
    for (const Mix mix : {Mix::bf16, Mix::q4_0, Mix::q4_k_m}) {
        const Bytes first = make("tiny-e2b", mix, 1);
        EXPECT_EQ(first, make("tiny-e2b", mix, 1));
        EXPECT_NE(first, make("tiny-e2b", mix, 2));
    }
    const gguf::File file = open(make("tiny-e2b", Mix::f32, 1));
    EXPECT_NE(decoded(file, "blk.0.ffn_gate.weight"), decoded(file, "blk.0.ffn_up.weight"));
    EXPECT_NE(decoded(file, "blk.0.ffn_gate.weight"), decoded(file, "blk.1.ffn_gate.weight"));
}

TEST(Synth, TellsHowFarItIsAndStopsWhenAsked) {
    const auto plan = *plan_synth("tiny-31b", Mix::f32);
    MemorySink sink;
    std::vector<uint64_t> steps;
    const auto progress = [&](uint64_t done, uint64_t total) {
        EXPECT_EQ(total, plan.layout.file_size);
        steps.push_back(done);
    };
    ASSERT_TRUE(*write_synth(plan, 1, sink, progress, {}, nullptr).run_now());
    EXPECT_GE(steps.size(), 2u);
    EXPECT_TRUE(std::ranges::is_sorted(steps));
    EXPECT_EQ(steps.back(), plan.layout.file_size);

    Cancel cancel;
    MemorySink stopped;
    const auto stop = [&](uint64_t, uint64_t) { cancel.request(); };
    const auto status = *write_synth(plan, 1, stopped, stop, cancel, nullptr).run_now();
    EXPECT_EQ(status.error().code, Code::cancelled);
    EXPECT_LT(stopped.bytes.size(), plan.layout.file_size);
}

TEST(Synth, AFullDiskEndsIt) {
    const auto plan = *plan_synth("tiny-31b", Mix::f32);
    for (const size_t room : {size_t{0}, size_t{1} << 20, size_t{10} << 20, size_t(plan.layout.file_size - 1)}) {
        MemorySink sink;
        sink.fail_at = room;
        const auto status = *write_synth(plan, 1, sink, nullptr, {}, nullptr).run_now();
        ASSERT_FALSE(status) << room;
        EXPECT_EQ(status.error().message, "the disk is full");
    }
}

struct Size {
    const char* variant;
    double low, high;  // GB
};

TEST(Synth, RealSizesAreThoseOfPublishedFiles) {
    for (const auto& [variant, low, high] : {Size{"e2b", 3.0, 3.7}, Size{"e4b", 4.9, 5.7}, Size{"12b", 6.9, 8.0},
                                             Size{"26b-a4b", 15.5, 18.5}, Size{"31b", 17, 20}}) {
        const auto plan = plan_synth(variant, Mix::q4_k_m);
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_GT(double(plan->layout.file_size) / 1e9, low) << variant;
        EXPECT_LT(double(plan->layout.file_size) / 1e9, high) << variant;
        EXPECT_EQ(plan->config.vocabulary, 262144u);
        if (std::string_view(variant) == "e2b") EXPECT_EQ(plan->config.name, "synthetic E2B");
    }
}

TEST(Synth, RefusesOtherNamesAndListsItsOwn) {
    const auto plan = plan_synth("270m", Mix::q4_k_m);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, Code::not_found);
    EXPECT_EQ(plan.error().message,
              "there is no Gemma '270m'; there are E2B, E4B, 12B, 26B-A4B, diffusion-26B-A4B, 31B, tiny-e2b, tiny-31b, "
              "tiny-one, "
              "tiny-wide, tiny-moe, tiny-diffusion, gemma3-270m, gemma3-1b, gemma3-4b, gemma3-12b, gemma3-27b, "
              "embeddinggemma, tiny-gemma3, "
              "tiny-embedding");
}

}  // namespace
}  // namespace lapidary::model
