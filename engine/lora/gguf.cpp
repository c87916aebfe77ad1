// Adapters as llama.cpp and Ollama read them: NAME.lora_a {in, rank} and NAME.lora_b {rank, out} for a tensor NAME.
#include <algorithm>

#include "gguf/header.h"
#include "lora/collect.h"
#include "lora/formats.h"

namespace lapidary::lora {
namespace {

Result<gguf::Header> header_of(std::span<const uint8_t> file) {
    // The header keeps its bytes; the tensors' need not be copied for that.
    size_t size = std::min<size_t>(file.size(), 64 << 10);
    while (true) {
        auto parsed = TRY(gguf::parse_header(
            std::make_shared<const Bytes>(file.begin(), file.begin() + ptrdiff_t(size)), file.size()));
        if (auto* header = std::get_if<gguf::Header>(&parsed)) return std::move(*header);
        size = std::max(size_t(std::get<gguf::NeedMore>(parsed).bytes), std::min(size * 2, file.size()));
    }
}

Status check_kind(const gguf::Header& header, std::string_view architecture) {
    const auto text = [&](std::string_view key) { return header.string(key).value_or(""); };
    if (text("general.type") != "adapter") {
        return fail(Code::invalid_argument, "this GGUF file is a '{}', not an adapter",
                    printable(text("general.type").empty() ? "model" : text("general.type")));
    }
    if (text("general.architecture") != architecture) {
        return fail(Code::unsupported, "the adapter is for the architecture '{}'; the model's is '{}'",
                    printable(text("general.architecture")), architecture);
    }
    if (text("adapter.type") != "lora") {
        return fail(Code::unsupported, "adapters of type '{}' are not supported, only 'lora'",
                    printable(text("adapter.type")));
    }
    if (header.find("adapter.alora.invocation_tokens") != nullptr) {
        return fail(Code::unsupported, "this is an activated LoRA (aLoRA), which is not supported");
    }
    return {};
}

struct GgufPlace {
    uint32_t layer = 0;
    Target target = Target::q;
    Collector::Side side = Collector::Side::a;
};

std::optional<GgufPlace> gguf_place_of(std::string_view name) {
    GgufPlace out;
    if (name.ends_with(".weight.lora_a")) {
        out.side = Collector::Side::a;
    } else if (name.ends_with(".weight.lora_b")) {
        out.side = Collector::Side::b;
    } else {
        return std::nullopt;
    }
    name.remove_suffix(std::string_view(".weight.lora_a").size());
    const bool layered = name.starts_with("blk.");
    if (layered) {
        name.remove_prefix(4);
        const auto layer = take_number(name);
        if (!layer) return std::nullopt;
        out.layer = *layer;
    }
    // The names of the tensors, not those other programs have for them.
    const auto target = target_from(name);
    if (!target || name_of(*target) != name || in_layer(*target) != layered) return std::nullopt;
    out.target = *target;
    return out;
}

bool is_allowed(TensorType type) {
    return type == TensorType::f32 || type == TensorType::f16 || type == TensorType::bf16 || type == TensorType::q8_0;
}

}  // namespace

Result<ReadAdapter> read_gguf(std::span<const uint8_t> file, const ReadOptions& options,
                              const model::WeightTable& table) {
    const gguf::Header header = TRY(header_of(file));
    TRY(check_kind(header, table.architecture));
    ReadAdapter out{.format = AdapterFormat::gguf};
    Collector collector;
    for (const gguf::TensorInfo& tensor : header.tensors) {
        if (tensor.name.ends_with("_norm.weight")) {  // other readers skip these too
            out.ignored.emplace_back(tensor.name);
            continue;
        }
        const auto place = gguf_place_of(tensor.name);
        if (!place) {
            return fail(Code::unsupported, "tensor '{}' is nothing that can be adapted in this model",
                        printable(tensor.name));
        }
        const auto type = TensorType(tensor.type->id);
        if (!is_allowed(type)) {
            return fail(Code::unsupported, "tensor '{}' is stored as {}; adapters are F32, F16, BF16 or Q8_0",
                        printable(tensor.name), tensor.type->name);
        }
        if (tensor.ne[2] != 1 || tensor.ne[3] != 1) {
            return fail(Code::bad_shape, "tensor '{}' is no matrix", printable(tensor.name));
        }
        // A of the embedding is written with a row for each token.
        const bool turned = place->target == Target::token_embd && place->side == Collector::Side::a;
        TRY(collector.add(place->layer, place->target, place->side,
                          {.name = std::string(tensor.name),
                           .type = type,
                           .rows = tensor.ne[1],
                           .cols = tensor.ne[0],
                           .bytes = file.subspan(size_t(tensor.range.offset), size_t(tensor.range.size)),
                           .transposed = turned}));
    }
    const auto alpha = float(header.number("adapter.lora.alpha").value_or(0));
    out.adapter.name = options.name.empty() ? std::string(header.string("general.name").value_or("")) : options.name;
    out.adapter.base_model = std::string(header.string("general.base_model.0.name").value_or(""));
    out.adapter.alpha = alpha;
    out.adapter.updates = TRY(collector.finish(
        table,
        [&](uint32_t /*layer*/, Target /*target*/, uint32_t rank, const std::string& /*name*/) -> Result<float> {
            return alpha == 0 ? 1.0f : alpha / float(rank);
        },
        out.ignored));
    return out;
}

}  // namespace lapidary::lora
