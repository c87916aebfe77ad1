#include "towers/projector.h"

#include <gtest/gtest.h>

#include "testing/fixture_model.h"
#include "testing/projector_files.h"
#include "towers/bounds.h"

namespace lapidary::towers {
namespace {

using testing::open_file;

Projector projector_in(const std::string& name) {
    const auto file = open_file("tests/data/media/" + name + ".gguf");
    EXPECT_TRUE(file) << file.error().message;
    auto out = read_projector(*file);
    EXPECT_TRUE(out) << out.error().message;
    return *std::move(out);
}

TEST(Projector, OfTheSmallModelsSeesAndHears) {
    const Projector found = projector_in("mmproj-small-F16");
    ASSERT_TRUE(found.vision);
    const VisionConfig& vision = found.vision->config;
    EXPECT_EQ(vision.kind, VisionKind::gemma4v);
    EXPECT_EQ(vision.layers, 2u);
    EXPECT_EQ(vision.width, 96u);
    EXPECT_EQ(vision.ffn, 192u);
    EXPECT_EQ(vision.heads, 4u);
    EXPECT_EQ(vision.head_dim, 24u);
    EXPECT_EQ(vision.side(), 48u);
    EXPECT_EQ(vision.positions, 128u);
    EXPECT_EQ(vision.output, 256u);
    EXPECT_FALSE(found.vision->table.std_bias.present());
    EXPECT_EQ(found.vision->table.patch_embd.weight.cols, 768u);
    EXPECT_EQ(found.vision->table.patch_embd.weight.rows, 96u);

    ASSERT_TRUE(found.audio);
    const AudioConfig& audio = found.audio->config;
    EXPECT_EQ(audio.kind, AudioKind::gemma4a);
    EXPECT_EQ(audio.layers, 2u);
    EXPECT_EQ(audio.head_dim, 16u);
    EXPECT_EQ(audio.kernel, 5u);
    EXPECT_EQ(audio.channels[0], 128u);
    EXPECT_EQ(audio.channels[1], 32u);
    EXPECT_EQ(audio.projected, 96u);
    EXPECT_EQ(audio.output, 256u);
    EXPECT_EQ(audio.norm_epsilon, 1e-6f) << "the file says something else, as early ones do";
    EXPECT_EQ(found.audio->table.layers[1].attn_pre_norm.name, "a.blk.1.attn_pre_norm.weight");
    EXPECT_EQ(found.audio->table.input_projection.name, "a.input_projection.weight");
}

TEST(Projector, OfTheLargeModelsStandardises) {
    const Projector found = projector_in("mmproj-large-BF16");
    ASSERT_TRUE(found.vision);
    EXPECT_TRUE(found.vision->table.std_scale.present());
    EXPECT_FALSE(found.vision->table.layers[0].q.bounds[0].present());
    EXPECT_FALSE(found.audio);
}

TEST(Projector, OfTheUnifiedModelHasPatchesOf48AndFramesOf640) {
    const Projector found = projector_in("mmproj-unified-F16");
    ASSERT_TRUE(found.vision);
    EXPECT_EQ(found.vision->config.kind, VisionKind::gemma4uv);
    EXPECT_EQ(found.vision->config.patch, 48u);
    EXPECT_EQ(found.vision->config.pooling, 1u);
    EXPECT_EQ(found.vision->config.positions, 96u);
    ASSERT_TRUE(found.audio);
    EXPECT_EQ(found.audio->config.kind, AudioKind::gemma4ua);
    EXPECT_EQ(found.audio->config.frame, 640u);
}

TEST(Projector, MayLieInTheModelsOwnFileInOllamasDialect) {
    const Projector found = projector_in("blob-e2b");
    ASSERT_TRUE(found.vision);
    EXPECT_EQ(found.vision->config.width, 64u);
    EXPECT_EQ(found.vision->table.layers[1].q.packed_at, 28u);
    EXPECT_TRUE(found.vision->table.layers[1].q.packed.present());
    ASSERT_TRUE(found.audio);
    EXPECT_EQ(found.audio->table.input_projection.name, "a.pre_encode.out.weight");
    EXPECT_EQ(found.audio->table.output_projection.weight.name, "mm.a.fc.weight");
    EXPECT_EQ(found.audio->table.layers[0].attn_post_norm.name, "a.blk.0.ln2.weight");
    EXPECT_EQ(found.audio->table.layers[0].output_norm.name, "a.blk.0.layer_pre_norm.weight");
}

TEST(Projector, IsAbsentFromAModelForText) {
    const auto file = open_file("tests/data/fixtures/tiny-e2b-q4km.gguf");
    ASSERT_TRUE(file);
    EXPECT_FALSE(has_towers(*file));
    const auto found = read_projector(*file);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->vision || found->audio);
}

TEST(Projector, OfAnotherWidthDoesNotFit) {
    const Projector found = projector_in("mmproj-large-BF16");
    model::Config config;
    config.width = 256;
    EXPECT_TRUE(check_fits(found, config));
    config.width = 2816;
    const auto refused = check_fits(found, config);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "the projector does not belong to this model: its vision tower makes tokens of 256 numbers, the model's "
              "have 2816");
}

// The file with one piece of its header replaced by another of the same length.
Result<Projector> with(const std::string& name, std::string_view before, std::string_view after) {
    auto file = testing::open_changed("tests/data/media/" + name + ".gguf", before, after);
    if (!file) return fail(Code::not_found, "{}", file.error().message);
    return read_projector(*file);
}

TEST(Projector, OfAnotherFamilyIsRefusedByName) {
    const auto refused = with("mmproj-large-BF16", "gemma4v", "gemma3v");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "this projector is of type 'gemma3v'; Gemma 4's are gemma4v and gemma4uv");
}

TEST(Projector, WithoutATensorOrWithAnotherShapeIsRefused) {
    const auto missing = with("mmproj-large-BF16", "v.blk.1.ffn_down.weight", "v.blk.1.ffn_dawn.weight");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message, "the file has no tensor 'v.blk.1.ffn_down.weight'");
    // 216 of the feed-forward width.
    const auto shape = with("mmproj-large-BF16", std::string_view("feed_forward_length\4\0\0\0\xd8", 24),
                            std::string_view("feed_forward_length\4\0\0\0\xd4", 24));
    ASSERT_FALSE(shape);
    EXPECT_EQ(shape.error().message,
              "tensor 'v.blk.0.ffn_gate.weight' has shape [96, 216]; the rest of the tower asks for [96, 212]");
}

TEST(Projector, BoundsComeFromScalarsOrFromOneTensor) {
    const auto bounds_in = [](const std::string& name) {
        const auto file = open_file("tests/data/media/" + name + ".gguf");
        const auto found = read_projector(*file);
        const auto weights =
            **reference::Weights::load(*file, to_load(found->vision->table.all), nullptr, {}).run_now();
        std::vector<Bounds> out;
        for (const VisionLayer& layer : found->vision->table.layers) out.push_back(*bounds_of(layer.q, *weights));
        out.push_back(*bounds_of(found->vision->table.projection, *weights));
        return out;
    };
    const auto small = bounds_in("mmproj-small-F16");
    EXPECT_FALSE(small[0].input.bounds_nothing());
    EXPECT_FALSE(small[0].output.bounds_nothing());
    EXPECT_EQ(small[1].output.high, std::numeric_limits<float>::infinity()) << "this one is missing in the file";
    EXPECT_TRUE(std::isfinite(small[1].output.low));
    const auto blob = bounds_in("blob-e2b");
    EXPECT_TRUE(std::isfinite(blob[0].input.low) && std::isfinite(blob[1].output.high));
    EXPECT_TRUE(blob[2].input.bounds_nothing()) << "four zeros";
}

}  // namespace
}  // namespace lapidary::towers
