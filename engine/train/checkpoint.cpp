#include "train/checkpoint.h"

#include <array>
#include <cmath>

#include "base/checksum.h"
#include "chat/json.h"
#include "lora/safetensors.h"
#include "train/float_bytes.h"

namespace lapidary::train {
namespace {

using chat::Json;

constexpr std::string_view kKind = "lapidary training";
constexpr std::string_view kVersion = "1";
constexpr size_t kMaxUpdates = 65536;

uint64_t checksum_of(const Checkpoint& checkpoint, std::string_view description) {
    Checksum sum;
    sum.add(description);
    for (const lora::Update& update : checkpoint.adapter.updates) {
        sum.add(bytes_of(update.a));
        sum.add(bytes_of(update.b));
    }
    sum.add(bytes_of(checkpoint.moments.first));
    sum.add(bytes_of(checkpoint.moments.second));
    return sum.value();
}

// Everything but the large arrays.
Json describe(const Checkpoint& checkpoint) {
    Json updates = Json::array();
    for (const lora::Update& update : checkpoint.adapter.updates) {
        updates.push_back({{"layer", update.layer},
                           {"target", std::string(lora::name_of(update.target))},
                           {"rank", update.rank},
                           {"in", update.in},
                           {"out", update.out},
                           {"scale", update.scale}});
    }
    return {{"step", checkpoint.step},
            {"data", checkpoint.data},
            {"optimizer_steps", checkpoint.moments.step},
            {"name", checkpoint.adapter.name},
            {"base_model", checkpoint.adapter.base_model},
            {"alpha", checkpoint.adapter.alpha},
            {"updates", std::move(updates)}};
}

Result<uint64_t> natural(const Json& object, const char* name, uint64_t most) {
    const Json& value = chat::member(object, name);
    if (!value.is_number_unsigned() || value.get<uint64_t>() > most) {
        return fail(Code::bad_file, "the checkpoint is damaged: '{}' is not what it should be", name);
    }
    return value.get<uint64_t>();
}

Result<float> number(const Json& object, const char* name) {
    const Json& value = chat::member(object, name);
    if (!value.is_number() || !std::isfinite(value.get<float>())) {
        return fail(Code::bad_file, "the checkpoint is damaged: '{}' is not a number", name);
    }
    return value.get<float>();
}

Result<std::string> text(const Json& object, const char* name) {
    const Json& value = chat::member(object, name);
    if (!value.is_string()) return fail(Code::bad_file, "the checkpoint is damaged: '{}' is not a text", name);
    return value.get<std::string>();
}

// An update without its numbers.
Result<lora::Update> read_update(const Json& object) {
    constexpr uint64_t kMax = UINT32_MAX;
    const std::string name = TRY(text(object, "target"));
    const auto target = lora::target_from(name);
    if (!target) return fail(Code::bad_file, "the checkpoint is damaged: there is no target '{}'", printable(name));
    return lora::Update{.layer = uint32_t(TRY(natural(object, "layer", kMax))),
                        .target = *target,
                        .rank = uint32_t(TRY(natural(object, "rank", lora::kMaxRank))),
                        .in = uint32_t(TRY(natural(object, "in", kMax))),
                        .out = uint32_t(TRY(natural(object, "out", kMax))),
                        .scale = TRY(number(object, "scale"))};
}

Result<std::vector<float>> values(const lora::SafeTensors& file, std::string_view name) {
    const lora::SafeTensor* tensor = file.find(name);
    if (tensor == nullptr) return fail(Code::bad_file, "the checkpoint is damaged: it has no '{}'", name);
    return lora::floats_of(*tensor);
}

}  // namespace

Bytes write_checkpoint(const Checkpoint& checkpoint) {
    lora::SafeTensorsWriter writer;
    const std::string description = chat::json_text(describe(checkpoint));
    writer.set_metadata("kind", kKind);
    writer.set_metadata("version", kVersion);
    writer.set_metadata("training", description);
    writer.set_metadata("checksum", format("{}", checksum_of(checkpoint, description)));
    std::vector<float> parameters;
    for (const lora::Update& update : checkpoint.adapter.updates) {
        parameters.insert(parameters.end(), update.a.begin(), update.a.end());
        parameters.insert(parameters.end(), update.b.begin(), update.b.end());
    }
    const std::array<uint64_t, 1> shape = {parameters.size()};
    writer.add("parameters", shape, parameters);
    writer.add("first_moments", shape, checkpoint.moments.first);
    writer.add("second_moments", shape, checkpoint.moments.second);
    return writer.file();
}

Result<Checkpoint> read_checkpoint(std::span<const uint8_t> bytes) {
    const auto file = lora::SafeTensors::parse(bytes);
    if (!file || file->metadata("kind") != kKind) {
        return fail(Code::bad_file, "this is not a checkpoint of a training, or only a part of one");
    }
    if (file->metadata("version") != kVersion) {
        return fail(Code::unsupported, "the checkpoint has version {}: this program knows {}",
                    printable(file->metadata("version")), kVersion);
    }
    const std::string description(file->metadata("training"));
    const Json json = TRY(chat::parse_json(description, "the checkpoint's description"));
    const Json& updates = chat::member(json, "updates");
    if (!json.is_object() || !updates.is_array() || updates.size() > kMaxUpdates) {
        return fail(Code::bad_file, "the checkpoint is damaged: it does not say what it holds");
    }
    Checkpoint out{.step = TRY(natural(json, "step", UINT64_MAX)), .data = TRY(natural(json, "data", UINT64_MAX))};
    out.moments.step = TRY(natural(json, "optimizer_steps", UINT64_MAX));
    out.adapter.name = TRY(text(json, "name"));
    out.adapter.base_model = TRY(text(json, "base_model"));
    out.adapter.alpha = TRY(number(json, "alpha"));
    const std::vector<float> parameters = TRY(values(*file, "parameters"));
    out.moments.first = TRY(values(*file, "first_moments"));
    out.moments.second = TRY(values(*file, "second_moments"));
    size_t at = 0;
    const auto take = [&](uint64_t count) -> Result<std::vector<float>> {
        if (count > parameters.size() - at) return fail(Code::bad_file, "the checkpoint is damaged: it ends too early");
        const auto begin = parameters.begin() + ptrdiff_t(at);
        at += size_t(count);
        return std::vector<float>(begin, begin + ptrdiff_t(count));
    };
    for (const Json& item : updates) {
        lora::Update update = TRY(read_update(item));
        update.a = TRY(take(uint64_t(update.rank) * update.in));
        update.b = TRY(take(uint64_t(update.rank) * update.out));
        out.adapter.updates.push_back(std::move(update));
    }
    if (at != parameters.size() || out.moments.first.size() != at || out.moments.second.size() != at ||
        file->metadata("checksum") != format("{}", checksum_of(out, description))) {
        return fail(Code::bad_file, "the checkpoint is damaged: its numbers are not those that were written");
    }
    return out;
}

}  // namespace lapidary::train
