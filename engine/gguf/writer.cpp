#include "gguf/writer.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace lapidary::gguf {
namespace {

template <class T>
void put(Bytes& out, T value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof(T));
}

void put_string(Bytes& out, std::string_view text) {
    put<uint64_t>(out, text.size());
    out.insert(out.end(), text.begin(), text.end());
}

void put_array_start(Bytes& out, ValueType element, uint64_t count) {
    put(out, int32_t(element));
    put(out, count);
}

}  // namespace

template <class T>
void Writer::set_scalar(std::string_view key, ValueType type, T value) {
    Bytes bytes;
    put(bytes, value);
    set_bytes(key, type, std::move(bytes));
}

template <class T>
void Writer::set_array(std::string_view key, ValueType type, std::span<const T> values) {
    Bytes bytes;
    bytes.reserve(12 + values.size_bytes());
    put_array_start(bytes, type, values.size());
    for (const T value : values) put(bytes, value);
    set_bytes(key, ValueType::array, std::move(bytes));
}

template <class Text>
void Writer::set_texts(std::string_view key, std::span<const Text> texts) {
    Bytes bytes;
    put_array_start(bytes, ValueType::string, texts.size());
    for (const std::string_view text : texts) put_string(bytes, text);
    set_bytes(key, ValueType::array, std::move(bytes));
}

void Writer::set_bool(std::string_view key, bool value) {
    set_scalar(key, ValueType::boolean, uint8_t(value));
}
void Writer::set_u16(std::string_view key, uint16_t value) {
    set_scalar(key, ValueType::uint16, value);
}
void Writer::set_u32(std::string_view key, uint32_t value) {
    set_scalar(key, ValueType::uint32, value);
}
void Writer::set_i32(std::string_view key, int32_t value) {
    set_scalar(key, ValueType::int32, value);
}
void Writer::set_u64(std::string_view key, uint64_t value) {
    set_scalar(key, ValueType::uint64, value);
}
void Writer::set_f32(std::string_view key, float value) {
    set_scalar(key, ValueType::float32, value);
}
void Writer::set_string(std::string_view key, std::string_view text) {
    Bytes bytes;
    put_string(bytes, text);
    set_bytes(key, ValueType::string, std::move(bytes));
}
void Writer::set_bools(std::string_view key, const std::vector<bool>& values) {
    const Bytes bytes(values.begin(), values.end());
    set_array(key, ValueType::boolean, std::span(bytes));
}
void Writer::set_u32s(std::string_view key, std::span<const uint32_t> values) {
    set_array(key, ValueType::uint32, values);
}
void Writer::set_i32s(std::string_view key, std::span<const int32_t> values) {
    set_array(key, ValueType::int32, values);
}
void Writer::set_f32s(std::string_view key, std::span<const float> values) {
    set_array(key, ValueType::float32, values);
}
void Writer::set_strings(std::string_view key, std::span<const std::string> texts) {
    set_texts(key, texts);
}
void Writer::set_strings(std::string_view key, std::span<const std::string_view> texts) {
    set_texts(key, texts);
}
void Writer::set(std::string_view key, const Value& value) {
    set_bytes(key, value.type(), Bytes(value.bytes().begin(), value.bytes().end()));
}

void Writer::set_bytes(std::string_view key, ValueType type, Bytes bytes) {
    const auto [it, added] = key_positions_.try_emplace(std::string(key), keys_.size());
    if (added) {
        keys_.push_back({std::string(key), type, std::move(bytes)});
    } else {
        keys_[it->second].type = type;
        keys_[it->second].bytes = std::move(bytes);
    }
}

void Writer::remove(std::string_view key) {
    const auto it = key_positions_.find(key);
    if (it == key_positions_.end()) return;
    const size_t position = it->second;
    key_positions_.erase(it);
    keys_.erase(keys_.begin() + ptrdiff_t(position));
    for (auto& [name, other] : key_positions_) {
        if (other > position) --other;
    }
}

void Writer::add_tensor(std::string_view name, TensorType type, std::span<const uint64_t> dims) {
    tensors_.push_back({std::string(name), int32_t(type), {dims.begin(), dims.end()}});
}
void Writer::add_tensor(std::string_view name, TensorType type, std::initializer_list<uint64_t> dims) {
    tensors_.push_back({std::string(name), int32_t(type), dims});
}
void Writer::add_tensor(const TensorInfo& tensor) {
    const auto dims = tensor.dims();
    tensors_.push_back({std::string(tensor.name), tensor.type->id, {dims.begin(), dims.end()}});
}

Result<uint64_t> Writer::alignment() const {
    const auto it = key_positions_.find(kAlignmentKey);
    if (it == key_positions_.end()) return kDefaultAlignment;
    const Value value(keys_[it->second].type, keys_[it->second].bytes);
    return alignment_from(&value);
}

// Encodes the header and gives every tensor its place.
Result<Layout> Writer::place() const {
    Bytes out;
    for (const char c : std::string_view("GGUF")) out.push_back(uint8_t(c));
    put<uint32_t>(out, 3);
    put<uint64_t>(out, tensors_.size());
    put<uint64_t>(out, keys_.size());
    for (const Key& key : keys_) {
        // Bytes that are not one whole value would shift everything after them.
        if (!Value(key.type, key.bytes).well_formed()) {
            return fail(Code::bad_file, "metadata key '{}' has bytes that are no {}", printable(key.name),
                        value_type_name(key.type));
        }
        put_string(out, key.name);
        put(out, int32_t(key.type));
        out.insert(out.end(), key.bytes.begin(), key.bytes.end());
    }
    const uint64_t alignment = TRY(this->alignment());
    Layout layout;
    uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
        const TensorTypeInfo* type = find_tensor_type(tensor.type);
        if (type == nullptr) {
            return fail(Code::unsupported, "tensor '{}' has type {}, which is unknown or retired",
                        printable(tensor.name), tensor.type);
        }
        const uint64_t size = TRY(tensor_bytes(tensor.name, *type, tensor.dims));
        put_string(out, tensor.name);
        put(out, uint32_t(tensor.dims.size()));
        for (const uint64_t dim : tensor.dims) put(out, dim);
        put(out, tensor.type);
        put(out, offset);
        layout.tensors.push_back({offset, size});
        const auto end = checked_add(offset, size);
        const auto next = end ? checked_align_up(*end, alignment) : std::nullopt;
        if (!next) return fail(Code::limit, "the tensors have more bytes than can be counted");
        offset = *next;
    }
    // The alignment may be as large as 2³¹, and the padding is real bytes.
    const auto data_start = checked_align_up<uint64_t>(out.size(), alignment);
    if (!data_start || *data_start > kMaxHeaderBytes) {
        return fail(Code::limit, "the header is larger than {}", format_bytes(kMaxHeaderBytes));
    }
    const auto file_size = checked_add(*data_start, offset);
    if (!file_size) return fail(Code::limit, "the tensors have more bytes than can be counted");
    for (ByteRange& range : layout.tensors) range.offset += *data_start;
    out.resize(size_t(*data_start));
    layout.header = std::move(out);
    layout.file_size = *file_size;
    return layout;
}

Result<Layout> Writer::layout() const {
    auto layout = place();
    if (layout) {
        // The reader has the last word, so that the two can never disagree about what is a good file.
        const auto bytes = std::make_shared<Bytes>(std::move(layout->header));
        const auto parsed = parse_header(bytes, layout->file_size);
        if (!parsed) {
            layout = std::unexpected(parsed.error());
        } else if (!std::holds_alternative<Header>(*parsed)) {
            return fail(Code::internal, "the header that was written is not complete");
        } else {
            layout->header = std::move(*bytes);
        }
    }
    if (layout) return layout;
    // Nothing is wrong with a file: whoever filled this writer asked for something that cannot be written.
    const Code code = layout.error().code == Code::limit ? Code::limit : Code::invalid_argument;
    return fail(code, "this cannot be written as a GGUF file: {}", layout.error().message);
}

}  // namespace lapidary::gguf
