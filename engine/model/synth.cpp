#include "model/synth.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "model/synth_vocabulary.h"
#include "quant/noise.h"

namespace lapidary::model {
namespace {

// A piece is made in a few milliseconds, which is as long as Ctrl-C has to wait.
constexpr uint64_t kPieceBytes = 8 << 20;

// Most values of a tensor lie around `centre`. Other centres than 0 are for F32 only.
struct Content {
    float centre = 0;
    float deviation = 0;
};

Content content_of(const Config& config, const TensorBlueprint& tensor) {
    const std::string_view name = tensor.name;
    const float of_row = 1 / std::sqrt(float(tensor.ne[0]));
    if (name.ends_with("layer_output_scale.weight")) return {.centre = 1};
    // Gemma 4 does not divide q · k by √dim. Small weights in the norm of k keep the products near 1 all the same.
    if (name.ends_with(".attn_k_norm.weight") && config.attention_scale == 1)
        return {.centre = of_row, .deviation = of_row / 20};
    // The router's input is divided by √width before, so its weights need not be small.
    if (name.ends_with(".ffn_gate_inp.weight")) return {.deviation = 1};
    if (tensor.ne.size() == 1) return {.centre = 1, .deviation = 0.05f};
    return {.deviation = of_row};
}

// Full layers rotate only the first pairs of a head. The frequencies of the others are divided by 1e30, which stops them.
void fill_rope_freqs(float rotated, std::span<float> out) {
    const auto first = size_t(rotated * float(out.size()));
    std::ranges::fill(out.first(first), 1.0f);
    std::ranges::fill(out.subspan(first), 1e30f);
}

// Blocks from `first` on of the tensor with this number.
void fill_blocks(const SynthPlan& plan, size_t number, uint64_t seed, uint64_t first, std::span<uint8_t> out) {
    const TensorBlueprint& tensor = plan.tensors[number];
    const Content content = content_of(plan.config, tensor);
    // Spread over all bits, because people choose seeds like 1, 2, 3, and neighbours would give similar noise.
    const quant::Noise noise{.seed = (seed * 4096 + number) * 0x9E3779B97F4A7C15u, .deviation = content.deviation};
    quant::fill_noise(plan.types[number], noise, first, out);
    const bool is_rope = tensor.name == "rope_freqs.weight";
    if (content.centre == 0 && !is_rope) return;
    std::vector<float> values(out.size() / sizeof(float));
    std::memcpy(values.data(), out.data(), out.size());
    for (float& value : values) value += content.centre;
    if (is_rope) fill_rope_freqs(plan.config.rotary_fraction_full, values);
    std::memcpy(out.data(), values.data(), out.size());
}

}  // namespace

Result<SynthPlan> plan_synth(std::string_view variant, quant::Mix mix) {
    SynthPlan plan{.config = TRY(family_config(variant)), .tensors = {}, .types = {}, .layout = {}};
    plan.config.name = "synthetic " + (plan.config.family == Family::gemma3 ? plan.config.name : plan.config.variant);
    plan.tensors = list_tensors(plan.config, {});
    std::vector<quant::MixTensor> tensors;
    for (const TensorBlueprint& tensor : plan.tensors) {
        tensors.push_back({tensor.name, tensor.ne, tensor.ne.size() > 1 ? TensorType::bf16 : TensorType::f32});
    }
    plan.types = quant::choose_types(mix, tensors, uint32_t(plan.config.layers.size()));

    gguf::Writer writer;
    write_metadata(plan.config, writer);
    writer.set_u32("general.file_type", quant::file_type(mix));
    writer.set_u32("general.quantization_version", 2);
    write_synthetic_vocabulary(plan.config, writer);
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
        writer.add_tensor(plan.tensors[i].name, plan.types[i], std::span<const uint64_t>(plan.tensors[i].ne));
    }
    plan.layout = TRY(writer.layout());
    return plan;
}

Task<Status> write_synth(const SynthPlan& plan, uint64_t seed, ByteSink& sink,
                         std::function<void(uint64_t done, uint64_t total)> progress, Cancel cancel,
                         std::function<Task<Status>()> breathe) {
    // Small tensors share a piece; large ones fill many.
    Bytes piece = plan.layout.header;
    uint64_t written = 0;
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
        const uint64_t block_bytes = tensor_type_info(plan.types[i]).block_bytes;
        const ByteRange range = plan.layout.tensors[i];
        piece.resize(size_t(range.offset - written));  // zeros up to where the tensor begins
        const uint64_t blocks = range.size / block_bytes;
        for (uint64_t first = 0; first < blocks;) {
            if (piece.size() + block_bytes > kPieceBytes) {
                const uint64_t end = written + piece.size();
                CO_TRY(co_await sink.write(written, std::exchange(piece, {}), cancel));
                written = end;
                if (progress) progress(written, plan.layout.file_size);
                if (breathe) CO_TRY(co_await breathe());
                piece.reserve(kPieceBytes);
            }
            const size_t filled = piece.size();
            const uint64_t count = std::min(blocks - first, (kPieceBytes - filled) / block_bytes);
            piece.resize(filled + size_t(count * block_bytes));
            fill_blocks(plan, i, seed, first, std::span(piece).subspan(filled));
            first += count;
        }
    }
    piece.resize(size_t(plan.layout.file_size - written));
    CO_TRY(co_await sink.write(written, std::move(piece), cancel));
    if (progress) progress(plan.layout.file_size, plan.layout.file_size);
    co_return Status{};
}

}  // namespace lapidary::model
