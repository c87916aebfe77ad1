#include "lora/safetensors.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "chat/json.h"
#include "quant/decode.h"
#include "quant/encode.h"

namespace lapidary::lora {
namespace {

using chat::Json;

constexpr size_t kMaxNameBytes = 512;
constexpr size_t kMaxMetadata = 1024;
constexpr size_t kMaxMetadataBytes = 1 << 20;

std::optional<Dtype> dtype_from(std::string_view name) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i32}) {
        if (dtype_name(dtype) == name) return dtype;
    }
    return std::nullopt;
}

// What the header says about one tensor, before anything of it is believed.
struct RawTensor {
    std::string name, dtype;
    std::vector<uint64_t> shape, offsets;
    bool has_shape = false;
};

// Listens to the JSON parser, so that a header is never a tree of values: only what the format allows is kept, and
// anything else ends it.
class HeaderListener {
  public:
    using number_integer_t = Json::number_integer_t;
    using number_unsigned_t = Json::number_unsigned_t;
    using number_float_t = Json::number_float_t;
    using string_t = Json::string_t;
    using binary_t = Json::binary_t;

    std::vector<RawTensor> tensors;
    std::map<std::string, std::string, std::less<>> metadata;
    Error problem{Code::bad_file, "the header of the safetensors file is not valid JSON"};

    bool null() { return refuse("a null"); }
    bool boolean(bool /*value*/) { return refuse("a boolean"); }
    bool number_float(number_float_t /*value*/, const string_t& /*text*/) { return refuse("a fraction"); }
    bool binary(binary_t& /*value*/) { return refuse("binary data"); }
    bool number_integer(number_integer_t value) {
        if (value < 0) return refuse("a negative number");
        return number_unsigned(number_unsigned_t(value));
    }
    bool number_unsigned(number_unsigned_t value) {
        if (!in_list_) return refuse("a number");
        RawTensor& tensor = tensors.back();
        auto& list = key_ == "shape" ? tensor.shape : tensor.offsets;
        if (list.size() == (key_ == "shape" ? SafeTensors::kMaxDims : 2)) return refuse("too many numbers");
        list.push_back(value);
        return true;
    }
    bool string(string_t& value) {
        if (in_list_) return refuse("a string");
        if (depth_ == 2 && in_metadata_) {
            metadata_bytes_ += key_.size() + value.size();
            if (metadata.size() == kMaxMetadata || metadata_bytes_ > kMaxMetadataBytes) return refuse("too much");
            metadata.insert_or_assign(key_, std::move(value));
            return true;
        }
        if (depth_ != 2 || key_ != "dtype") return refuse("a string");
        tensors.back().dtype = std::move(value);
        return true;
    }
    bool start_object(size_t /*size*/) {
        if (depth_ == 2 || in_list_) return refuse("an object");
        if (++depth_ != 2) return true;
        in_metadata_ = name_ == "__metadata__";
        if (in_metadata_) return true;
        if (tensors.size() == SafeTensors::kMaxTensors) {
            problem = {Code::limit, format("the safetensors file has more than {} tensors", SafeTensors::kMaxTensors)};
            return false;
        }
        RawTensor tensor;
        tensor.name = name_;
        tensors.push_back(std::move(tensor));
        return true;
    }
    bool end_object() {
        --depth_;
        return true;
    }
    bool key(string_t& value) {
        if (value.size() > kMaxNameBytes) return refuse("a very long name");
        (depth_ == 1 ? name_ : key_) = std::move(value);
        return true;
    }
    bool start_array(size_t /*size*/) {
        const bool known = key_ == "shape" || key_ == "data_offsets";
        if (depth_ != 2 || in_metadata_ || in_list_ || !known) return refuse("a list");
        // Given twice, the numbers would add up to something neither of them says.
        RawTensor& tensor = tensors.back();
        if (key_ == "shape" ? tensor.has_shape : !tensor.offsets.empty()) return refuse("a second list");
        tensor.has_shape = tensor.has_shape || key_ == "shape";
        in_list_ = true;
        return true;
    }
    bool end_array() {
        in_list_ = false;
        return true;
    }
    bool parse_error(size_t /*position*/, const std::string& /*token*/, const nlohmann::detail::exception& /*why*/) {
        return false;
    }

  private:
    bool refuse(std::string_view what) {
        problem = {Code::bad_file, format("the header of the safetensors file has {} where none belongs (near '{}')",
                                          what, printable(name_))};
        return false;
    }

    size_t depth_ = 0;
    size_t metadata_bytes_ = 0;
    bool in_list_ = false;
    bool in_metadata_ = false;
    std::string name_, key_;  // of the tensor, and of its member
};

Result<SafeTensor> checked(RawTensor raw, std::span<const uint8_t> values) {
    const std::string name = printable(raw.name);
    const auto dtype = dtype_from(raw.dtype);
    if (!dtype) {
        return fail(Code::unsupported, "tensor '{}' is stored as '{}'; F32, F16, BF16 and I32 can be read", name,
                    printable(raw.dtype));
    }
    if (!raw.has_shape || raw.offsets.size() != 2) {
        return fail(Code::bad_file, "tensor '{}' has no shape or no data_offsets", name);
    }
    std::optional<uint64_t> elements = 1;
    for (const uint64_t size : raw.shape) elements = elements ? checked_mul(*elements, size) : elements;
    const auto bytes = elements ? checked_mul(*elements, dtype_bytes(*dtype)) : std::nullopt;
    const uint64_t begin = raw.offsets[0];
    const uint64_t end = raw.offsets[1];
    if (begin > end || end > values.size()) {
        return fail(Code::truncated, "tensor '{}' lies at bytes {} to {} of {}", name, begin, end, values.size());
    }
    if (!bytes || *bytes != end - begin) {
        return fail(Code::bad_file, "tensor '{}' has {} bytes, which is not what its shape and type take", name,
                    end - begin);
    }
    return SafeTensor{.name = std::move(raw.name),
                      .dtype = *dtype,
                      .shape = std::move(raw.shape),
                      .elements = *elements,
                      .bytes = values.subspan(size_t(begin), size_t(end - begin))};
}

// Two tensors that share bytes are a trick, not a file somebody's tool has written.
Status refuse_overlaps(std::span<const SafeTensor> tensors) {
    std::vector<const SafeTensor*> order;
    for (const SafeTensor& tensor : tensors) {
        if (!tensor.bytes.empty()) order.push_back(&tensor);
    }
    std::ranges::sort(order, std::less<>(), [](const SafeTensor* tensor) { return tensor->bytes.data(); });
    for (size_t i = 1; i < order.size(); ++i) {
        const auto& before = order[i - 1]->bytes;
        if (order[i]->bytes.data() < before.data() + before.size()) {
            return fail(Code::bad_file, "tensors '{}' and '{}' overlap", printable(order[i - 1]->name),
                        printable(order[i]->name));
        }
    }
    return {};
}

uint64_t header_bytes(std::span<const uint8_t> file) {
    uint64_t size = 0;
    std::memcpy(&size, file.data(), sizeof size);
    return size;
}

}  // namespace

std::string_view dtype_name(Dtype dtype) {
    switch (dtype) {
        case Dtype::f32: return "F32";
        case Dtype::f16: return "F16";
        case Dtype::bf16: return "BF16";
        case Dtype::i32: return "I32";
    }
    return "";
}

uint64_t dtype_bytes(Dtype dtype) {
    return dtype == Dtype::f32 || dtype == Dtype::i32 ? 4 : 2;
}

TensorType tensor_type(Dtype dtype) {
    if (dtype == Dtype::f16) return TensorType::f16;
    return dtype == Dtype::bf16 ? TensorType::bf16 : TensorType::f32;
}

bool SafeTensors::recognises(std::span<const uint8_t> file) {
    return file.size() >= 9 && header_bytes(file) <= kMaxHeaderBytes && file[8] == '{';
}

Result<SafeTensors> SafeTensors::parse(std::span<const uint8_t> file) {
    if (file.size() < 8) return fail(Code::truncated, "the safetensors file ends before its header");
    const uint64_t header = header_bytes(file);
    if (header > kMaxHeaderBytes) {
        return fail(Code::limit, "the header of the safetensors file claims {}; at most {} are read",
                    format_bytes(header), format_bytes(kMaxHeaderBytes));
    }
    if (header > file.size() - 8) return fail(Code::truncated, "the safetensors file ends inside its header");
    const auto* text = reinterpret_cast<const char*>(file.data()) + 8;
    HeaderListener listener;
    if (!Json::sax_parse(text, text + header, &listener)) return std::unexpected(std::move(listener.problem));

    SafeTensors out;
    out.metadata_ = std::move(listener.metadata);
    const auto values = file.subspan(8 + size_t(header));
    for (RawTensor& raw : listener.tensors) {
        SafeTensor tensor = TRY(checked(std::move(raw), values));
        if (!out.index_.emplace(tensor.name, out.tensors_.size()).second) {
            return fail(Code::bad_file, "tensor '{}' is in the file twice", printable(tensor.name));
        }
        out.tensors_.push_back(std::move(tensor));
    }
    TRY(refuse_overlaps(out.tensors_));
    return out;
}

const SafeTensor* SafeTensors::find(std::string_view name) const {
    const auto it = index_.find(name);
    return it == index_.end() ? nullptr : &tensors_[it->second];
}

std::string_view SafeTensors::metadata(std::string_view key) const {
    const auto it = metadata_.find(key);
    return it == metadata_.end() ? std::string_view() : std::string_view(it->second);
}

Result<std::vector<float>> floats_of(const SafeTensor& tensor) {
    if (tensor.dtype == Dtype::i32) {
        return fail(Code::bad_file, "tensor '{}' has whole numbers where floats belong", printable(tensor.name));
    }
    std::vector<float> out(size_t(tensor.elements));
    quant::decode(tensor_type(tensor.dtype), tensor.bytes.data(), out);
    return out;
}

Result<std::vector<int32_t>> integers_of(const SafeTensor& tensor) {
    if (tensor.dtype != Dtype::i32) {
        return fail(Code::bad_file, "tensor '{}' has floats where whole numbers belong", printable(tensor.name));
    }
    std::vector<int32_t> out(size_t(tensor.elements));
    if (!out.empty()) std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
    return out;
}

void SafeTensorsWriter::set_metadata(std::string_view key, std::string_view value) {
    metadata_.emplace_back(key, value);
}

void SafeTensorsWriter::add(std::string_view name, std::span<const uint64_t> shape, std::span<const float> values,
                            Dtype dtype) {
    const size_t begin = values_.size();
    values_.resize(begin + values.size() * size_t(dtype_bytes(dtype)));
    quant::encode(tensor_type(dtype), values, values_.data() + begin);
    entries_.push_back({std::string(name), dtype, {shape.begin(), shape.end()}, begin, values_.size()});
}

void SafeTensorsWriter::add(std::string_view name, std::span<const uint64_t> shape, std::span<const int32_t> values) {
    const size_t begin = values_.size();
    values_.resize(begin + values.size_bytes());
    if (!values.empty()) std::memcpy(values_.data() + begin, values.data(), values.size_bytes());
    entries_.push_back({std::string(name), Dtype::i32, {shape.begin(), shape.end()}, begin, values_.size()});
}

Bytes SafeTensorsWriter::file() const {
    // Text by hand: thousands of members in a tree that looks each up would take their time.
    std::string header = "{";
    const auto quoted = [](std::string_view text) { return chat::json_text(Json(std::string(text))); };
    if (!metadata_.empty()) {
        header += "\"__metadata__\":{";
        for (size_t i = 0; i < metadata_.size(); ++i) {
            header += (i > 0 ? "," : "") + quoted(metadata_[i].first) + ":" + quoted(metadata_[i].second);
        }
        header += "}";
    }
    for (const Entry& entry : entries_) {
        header += (header.size() > 1 ? "," : "") + quoted(entry.name) + ":{\"dtype\":\"";
        header += dtype_name(entry.dtype);
        header += "\",\"shape\":[";
        for (size_t i = 0; i < entry.shape.size(); ++i) {
            header += (i > 0 ? "," : "") + std::to_string(entry.shape[i]);
        }
        header += "],\"data_offsets\":[" + std::to_string(entry.begin) + "," + std::to_string(entry.end) + "]}";
    }
    header += "}";
    // Readers map the file into memory: the values begin at a multiple of eight.
    header.append((8 - header.size() % 8) % 8, ' ');

    Bytes out(8 + header.size() + values_.size());
    const uint64_t size = header.size();
    std::memcpy(out.data(), &size, 8);
    std::memcpy(out.data() + 8, header.data(), header.size());
    if (!values_.empty()) std::memcpy(out.data() + 8 + header.size(), values_.data(), values_.size());
    return out;
}

}  // namespace lapidary::lora
