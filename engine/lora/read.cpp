#include "lora/read.h"

#include "lora/formats.h"
#include "lora/zip.h"

namespace lapidary::lora {
namespace {

constexpr std::string_view kConfigName = "adapter_config.json";
constexpr std::string_view kWeightsName = "adapter_model.safetensors";

bool begins_with(std::span<const uint8_t> file, std::string_view magic) {
    return std::string_view(reinterpret_cast<const char*>(file.data()), file.size()).starts_with(magic);
}

// The entry of that name, in whatever folder.
const ZipEntry* find_entry(std::span<const ZipEntry> entries, std::string_view name) {
    for (const ZipEntry& entry : entries) {
        if (entry.name == name || entry.name.ends_with("/" + std::string(name))) return &entry;
    }
    return nullptr;
}

Result<ReadAdapter> read_zip_adapter(std::span<const uint8_t> file, ReadOptions options,
                                     const model::WeightTable& table) {
    const std::vector<ZipEntry> entries = TRY(read_zip(file));
    const ZipEntry* weights = find_entry(entries, kWeightsName);
    if (weights == nullptr) return fail(Code::bad_file, "the archive has no {}", kWeightsName);
    if (const ZipEntry* config = find_entry(entries, kConfigName)) {
        options.config.assign(config->bytes.begin(), config->bytes.end());
    }
    const SafeTensors tensors = TRY(SafeTensors::parse(weights->bytes));
    ReadAdapter read = TRY(read_peft(tensors, options, table));
    read.format = AdapterFormat::zip;
    return read;
}

}  // namespace

std::string_view format_name(AdapterFormat format) {
    switch (format) {
        case AdapterFormat::peft: return "peft";
        case AdapterFormat::zip: return "zip";
        case AdapterFormat::gguf: return "gguf";
        case AdapterFormat::rullama: return "rullama-lora-v0";
    }
    return "";
}

std::optional<uint32_t> take_number(std::string_view& text) {
    uint32_t value = 0;
    size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
        if (digits == 6) return std::nullopt;  // no model has a million layers
        value = value * 10 + uint32_t(text[digits] - '0');
        ++digits;
    }
    const bool leading_zero = digits > 1 && text[0] == '0';
    if (digits == 0 || leading_zero || !text.substr(digits).starts_with('.')) return std::nullopt;
    text.remove_prefix(digits + 1);
    return value;
}

Result<ReadAdapter> read_adapter(std::span<const uint8_t> file, const ReadOptions& options,
                                 const model::WeightTable& table) {
    ReadAdapter read = TRY([&]() -> Result<ReadAdapter> {
        if (begins_with(file, "GGUF")) return read_gguf(file, options, table);
        if (begins_with(file, "PK\x03\x04")) return read_zip_adapter(file, options, table);
        if (SafeTensors::recognises(file)) {
            const SafeTensors tensors = TRY(SafeTensors::parse(file));
            if (tensors.metadata("format") == kRullamaFormat) return read_rullama(tensors, options, table);
            return read_peft(tensors, options, table);
        }
        return fail(Code::bad_file,
                    "this is no adapter: it is neither a safetensors file, nor GGUF, nor a zip archive");
    }());
    TRY(check_fits(read.adapter, table));
    return read;
}

}  // namespace lapidary::lora
