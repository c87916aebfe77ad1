// rullama-lora-v0: lora.blk.{layer}.{proj}.{A|B}, A [rank, in], B [out, rank]; one alpha in the metadata.
#include <cmath>
#include <cstdlib>

#include "lora/collect.h"
#include "lora/formats.h"

namespace lapidary::lora {
namespace {

// A positive number written as text; nothing for anything else.
std::optional<float> number_from(std::string_view text) {
    if (text.empty() || text.size() > 32) return std::nullopt;
    const std::string copy(text);
    char* end = nullptr;
    const float value = std::strtof(copy.c_str(), &end);
    if (end != copy.c_str() + copy.size() || !std::isfinite(value) || value <= 0) return std::nullopt;
    return value;
}

struct RullamaPlace {
    uint32_t layer;
    Target target;
    Collector::Side side;
};

std::optional<RullamaPlace> rullama_place_of(std::string_view name) {
    constexpr std::string_view kPrefix = "lora.blk.";
    if (!name.starts_with(kPrefix)) return std::nullopt;
    name.remove_prefix(kPrefix.size());
    const auto layer = take_number(name);
    if (!layer || name.size() < 3) return std::nullopt;
    const std::string_view side = name.substr(name.size() - 2);
    if (side != ".A" && side != ".B") return std::nullopt;
    const auto target = target_from(name.substr(0, name.size() - 2));
    if (!target) return std::nullopt;
    return RullamaPlace{*layer, *target, side == ".A" ? Collector::Side::a : Collector::Side::b};
}

}  // namespace

Result<ReadAdapter> read_rullama(const SafeTensors& file, const ReadOptions& options, const model::WeightTable& table) {
    const auto alpha = number_from(file.metadata("alpha"));
    if (!alpha) {
        return fail(Code::bad_file, "the adapter's alpha is '{}', which is no positive number",
                    printable(file.metadata("alpha")));
    }
    Collector collector;
    for (const SafeTensor& tensor : file.tensors()) {
        const auto place = rullama_place_of(tensor.name);
        if (!place) {
            return fail(Code::unsupported, "tensor '{}' is nothing an adapter for this model has",
                        printable(tensor.name));
        }
        RawMatrix matrix = TRY(matrix_of(tensor));
        Collector::Side side = place->side;
        // Some files have the embedding as a matrix from width to vocabulary, like the head: A and B then change places.
        const bool b = side == Collector::Side::b;
        if (place->target == Target::token_embd &&
            (b ? matrix.rows : matrix.cols) != (b ? table.token_embd.cols : table.token_embd.rows)) {
            side = b ? Collector::Side::a : Collector::Side::b;
            matrix.transposed = true;
        }
        TRY(collector.add(place->layer, place->target, side, std::move(matrix)));
    }
    ReadAdapter out{.format = AdapterFormat::rullama};
    out.adapter.name = options.name;
    out.adapter.alpha = *alpha;
    out.adapter.updates = TRY(collector.finish(
        table,
        [&](uint32_t /*layer*/, Target /*target*/, uint32_t rank, const std::string& /*name*/) -> Result<float> {
            return *alpha / float(rank);
        },
        out.ignored));
    return out;
}

}  // namespace lapidary::lora
