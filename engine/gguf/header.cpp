#include "gguf/header.h"

#include <algorithm>
#include <bit>

#include "base/checked.h"

namespace lapidary::gguf {

const Value* Header::find(std::string_view key) const {
    const auto it = key_index_.find(key);
    return it == key_index_.end() ? nullptr : &keys[it->second].value;
}

const TensorInfo* Header::find_tensor(std::string_view name) const {
    const auto it = tensor_index_.find(name);
    return it == tensor_index_.end() ? nullptr : &tensors[it->second];
}

std::optional<int64_t> Header::integer(std::string_view key) const {
    const Value* value = find(key);
    return value == nullptr ? std::nullopt : value->as_integer();
}

std::optional<double> Header::number(std::string_view key) const {
    const Value* value = find(key);
    return value == nullptr ? std::nullopt : value->as_number();
}

std::optional<std::string_view> Header::string(std::string_view key) const {
    const Value* value = find(key);
    return value == nullptr ? std::nullopt : value->as_string();
}

// Walks the prefix once. Two ways to stop early: a wrong file (an Error) or a prefix that is too short
// (`wanted_` > 0, reported as NeedMore by parse_header). Every read goes through `need`, so nothing is touched
// before it is known to lie inside both the prefix and the file.
class HeaderParser {
  public:
    HeaderParser(std::shared_ptr<const Bytes> prefix, uint64_t file_length)
        : prefix_(std::move(prefix)), at_(prefix_->data()), file_length_(file_length) {}

    Result<std::variant<Header, NeedMore>> run() {
        auto status = parse();
        if (!status && wanted_ > 0) return NeedMore{wanted_};
        if (!status) return std::unexpected(std::move(status).error());
        header_.bytes = prefix_;
        header_.file_length = file_length_;
        return std::move(header_);
    }

  private:
    Status parse() {
        TRY(parse_start());
        for (uint64_t i = 0; i < n_keys_; ++i) TRY(parse_key());
        TRY(read_alignment());
        for (uint64_t i = 0; i < n_tensors_; ++i) TRY(parse_tensor());
        return place_tensors();
    }

    Status parse_start() {
        if (file_length_ == 0) return fail(Code::bad_file, "the file is empty");
        // A file too short to hold the magic is no GGUF either; say that rather than "truncated".
        const uint64_t magic_bytes = std::min<uint64_t>(4, file_length_);
        TRY(need(magic_bytes, "the magic number"));
        if (magic_bytes < 4 || !std::equal(at_, at_ + 4, "GGUF")) {
            return fail(Code::bad_file, "this is not a GGUF file (it does not start with 'GGUF')");
        }
        skip(4);
        const auto version = TRY(scalar<uint32_t>("the version"));
        if (version != 0 && (version & 0xFFFF) == 0) {
            return fail(Code::unsupported, "this GGUF file is big-endian; only little-endian files are supported");
        }
        if (version != 2 && version != 3) {
            return fail(Code::unsupported, "GGUF version {} is not supported (versions 2 and 3 are)", version);
        }
        header_.version = version;
        const auto n_tensors = TRY(scalar<int64_t>("the number of tensors"));
        const auto n_keys = TRY(scalar<int64_t>("the number of metadata keys"));
        // Smallest encodings: a tensor has a name length, a dimension count, a type and an offset; a key has a
        // length, a type and one byte.
        constexpr uint64_t kSmallestTensor = 8 + 4 + 4 + 8;
        constexpr uint64_t kSmallestKey = 8 + 4 + 1;
        if (n_tensors < 0 || uint64_t(n_tensors) > kMaxTensors || uint64_t(n_tensors) > remaining() / kSmallestTensor) {
            return fail(Code::bad_file, "the file claims {} tensors, which cannot be", n_tensors);
        }
        if (n_keys < 0 || uint64_t(n_keys) > kMaxKeys || uint64_t(n_keys) > remaining() / kSmallestKey) {
            return fail(Code::bad_file, "the file claims {} metadata keys, which cannot be", n_keys);
        }
        n_tensors_ = uint64_t(n_tensors);
        n_keys_ = uint64_t(n_keys);
        return {};
    }

    Status parse_key() {
        const auto key = TRY(string("a metadata key"));
        if (key.empty()) return fail(Code::bad_file, "metadata key {} has no name", header_.keys.size());
        const auto type = ValueType(TRY(scalar<int32_t>("the type of a metadata value")));
        const auto value = TRY(parse_value(key, type));
        if (!header_.key_index_.emplace(key, uint32_t(header_.keys.size())).second) {
            return fail(Code::bad_file, "metadata key '{}' occurs twice", printable(key));
        }
        header_.keys.push_back({key, value});
        return {};
    }

    Result<Value> parse_value(std::string_view key, ValueType type) {
        const uint8_t* begin = at_;
        if (const uint32_t size = fixed_size(type); size > 0) {
            TRY(need(size, "a metadata value"));
            skip(size);
        } else if (type == ValueType::string) {
            TRY(string("a metadata string"));
        } else if (type == ValueType::array) {
            TRY(parse_array(key));
        } else {
            return fail(Code::bad_file, "metadata key '{}' has unknown value type {}", printable(key), int32_t(type));
        }
        return Value(type, {begin, at_});
    }

    Status parse_array(std::string_view key) {
        const auto element = ValueType(TRY(scalar<int32_t>("the element type of an array")));
        const auto count = TRY(scalar<uint64_t>("the length of an array"));
        if (element == ValueType::array) {
            return fail(Code::bad_file, "metadata key '{}' is an array of arrays, which GGUF does not allow",
                        printable(key));
        }
        const uint64_t size = element == ValueType::string ? 8 : fixed_size(element);
        if (size == 0) {
            return fail(Code::bad_file, "metadata key '{}' is an array of unknown type {}", printable(key),
                        int32_t(element));
        }
        if (count > kMaxArrayElements || count > remaining() / size) {
            return fail(Code::bad_file, "metadata key '{}' claims {} elements, more than the file can hold",
                        printable(key), count);
        }
        if (element != ValueType::string) {
            TRY(need(count * size, "a metadata array"));
            skip(count * size);
            return {};
        }
        for (uint64_t i = 0; i < count; ++i) TRY(string("an array of strings"));
        return {};
    }

    Status read_alignment() {
        const Value* value = header_.find("general.alignment");
        if (value == nullptr) return {};
        if (value->type() != ValueType::uint32) {
            return fail(Code::bad_file, "general.alignment is a {}; it must be a uint32",
                        value_type_name(value->type()));
        }
        const auto alignment = uint64_t(*value->as_integer());
        if (!std::has_single_bit(alignment)) {
            return fail(Code::bad_file, "general.alignment is {}; it must be a power of two", alignment);
        }
        header_.alignment = alignment;
        return {};
    }

    Status parse_tensor() {
        TensorInfo tensor;
        tensor.name = TRY(string("a tensor's name"));
        const std::string shown = printable(tensor.name);
        if (tensor.name.empty()) return fail(Code::bad_file, "tensor {} has no name", header_.tensors.size());
        if (tensor.name.size() > kMaxTensorName) {
            return fail(Code::bad_file, "tensor name '{}' is longer than {} bytes", shown, kMaxTensorName);
        }
        tensor.n_dims = TRY(scalar<uint32_t>("a tensor's number of dimensions"));
        if (tensor.n_dims > kMaxDims) {
            return fail(Code::bad_file, "tensor '{}' has {} dimensions; at most {} are allowed", shown, tensor.n_dims,
                        kMaxDims);
        }
        int64_t elements = 1;
        for (uint32_t i = 0; i < tensor.n_dims; ++i) {
            const auto dim = TRY(scalar<int64_t>("a tensor's dimensions"));
            if (dim < 0) return fail(Code::bad_file, "tensor '{}' has a negative dimension", shown);
            const auto product = checked_mul(elements, dim);
            if (!product) return fail(Code::bad_file, "tensor '{}' has more elements than can be counted", shown);
            elements = *product;
            tensor.ne[i] = uint64_t(dim);
        }
        const auto type_id = TRY(scalar<int32_t>("a tensor's type"));
        tensor.type = find_tensor_type(type_id);
        if (tensor.type == nullptr) {
            return fail(Code::unsupported, "tensor '{}' has type {}, which is unknown or retired", shown, type_id);
        }
        if (tensor.ne[0] % tensor.type->block_elements != 0) {
            return fail(Code::bad_file, "tensor '{}' has rows of {} elements, not a multiple of {}'s block of {}",
                        shown, tensor.ne[0], tensor.type->name, tensor.type->block_elements);
        }
        const auto size =
            checked_mul<uint64_t>(uint64_t(elements) / tensor.type->block_elements, tensor.type->block_bytes);
        if (!size) return fail(Code::bad_file, "tensor '{}' has more bytes than can be counted", shown);
        tensor.range.size = *size;
        tensor.range.offset = TRY(scalar<uint64_t>("a tensor's offset"));
        if (tensor.range.offset % header_.alignment != 0) {
            return fail(Code::bad_file, "tensor '{}' starts at offset {}, not a multiple of the alignment {}", shown,
                        tensor.range.offset, header_.alignment);
        }
        if (!header_.tensor_index_.emplace(tensor.name, uint32_t(header_.tensors.size())).second) {
            return fail(Code::bad_file, "tensor '{}' occurs twice", shown);
        }
        header_.tensors.push_back(tensor);
        return {};
    }

    // Turns offsets in the data section into ranges of the file, each checked to be inside it and apart from
    // its neighbours.
    Status place_tensors() {
        const auto start = checked_align_up<uint64_t>(position(), header_.alignment);
        if (!start) return fail(Code::bad_file, "the data section starts beyond what can be counted");
        header_.data_start = *start;
        if (header_.tensors.empty()) return {};
        const uint64_t data_bytes = *start > file_length_ ? 0 : file_length_ - *start;
        for (TensorInfo& tensor : header_.tensors) {
            const auto end = checked_add(tensor.range.offset, tensor.range.size);
            if (!end || *end > data_bytes) {
                return fail(Code::truncated,
                            "tensor '{}' ends beyond the end of the file ({} of data present): the download or copy "
                            "is not complete",
                            printable(tensor.name), format_bytes(data_bytes));
            }
            tensor.range.offset += *start;
        }
        return check_overlap();
    }

    Status check_overlap() const {
        std::vector<const TensorInfo*> order;
        order.reserve(header_.tensors.size());
        for (const TensorInfo& tensor : header_.tensors) {
            if (tensor.range.size > 0) order.push_back(&tensor);
        }
        std::ranges::sort(order, {}, [](const TensorInfo* tensor) { return tensor->range.offset; });
        for (size_t i = 1; i < order.size(); ++i) {
            const ByteRange& before = order[i - 1]->range;
            if (before.offset + before.size > order[i]->range.offset) {
                return fail(Code::bad_file, "tensors '{}' and '{}' overlap", printable(order[i - 1]->name),
                            printable(order[i]->name));
            }
        }
        return {};
    }

    [[nodiscard]] uint64_t position() const { return uint64_t(at_ - prefix_->data()); }
    [[nodiscard]] uint64_t remaining() const { return file_length_ - position(); }
    void skip(uint64_t bytes) { at_ += bytes; }

    // Makes sure that `bytes` more can be read here: an error if the file is too short, NeedMore if only the
    // prefix is.
    Status need(uint64_t bytes, std::string_view what) {
        if (bytes > remaining()) {
            return fail(Code::truncated, "the file ends in the middle of {} (it has {} bytes)", what, file_length_);
        }
        const uint64_t end = position() + bytes;
        if (end > kMaxHeaderBytes) {
            return fail(Code::limit, "the header is larger than {}", format_bytes(kMaxHeaderBytes));
        }
        if (end > prefix_->size()) {
            wanted_ = end;
            return fail(Code::truncated, "more bytes are needed");  // never shown: run() turns it into NeedMore
        }
        return {};
    }

    template <class T>
    Result<T> scalar(std::string_view what) {
        TRY(need(sizeof(T), what));
        const T value = load<T>(at_);
        skip(sizeof(T));
        return value;
    }

    Result<std::string_view> string(std::string_view what) {
        const auto length = TRY(scalar<uint64_t>(what));
        if (length > kMaxStringBytes || length > remaining()) {
            return fail(Code::bad_file, "{} claims {} bytes, more than the file can hold", what, length);
        }
        TRY(need(length, what));
        const std::string_view text(reinterpret_cast<const char*>(at_), size_t(length));
        skip(length);
        return text;
    }

    std::shared_ptr<const Bytes> prefix_;
    const uint8_t* at_;
    uint64_t file_length_;
    uint64_t wanted_ = 0;
    uint64_t n_tensors_ = 0;
    uint64_t n_keys_ = 0;
    Header header_;
};

Result<std::variant<Header, NeedMore>> parse_header(const std::shared_ptr<const Bytes>& prefix, uint64_t file_length) {
    return HeaderParser(prefix, file_length).run();
}

Task<Result<Header>> read_header(ByteSource& source, Cancel cancel) {
    // 64 KiB holds the header of a file without a vocabulary. Each further round at least doubles what is read, so
    // a 16 MB header takes a handful of rounds, and parsing from the start again costs less than one of them.
    constexpr uint64_t kFirstRead = 64 << 10;
    auto bytes = std::make_shared<Bytes>();
    uint64_t wanted = std::min<uint64_t>(kFirstRead, source.size());
    while (true) {
        const uint64_t have = bytes->size();
        const Bytes more = CO_TRY(co_await source.read({have, wanted - have}, cancel));
        bytes->insert(bytes->end(), more.begin(), more.end());
        auto parsed = CO_TRY(parse_header(bytes, source.size()));
        if (auto* header = std::get_if<Header>(&parsed)) co_return std::move(*header);
        const uint64_t asked = std::get<NeedMore>(parsed).bytes;
        wanted = std::min(source.size(), std::max(asked, std::min<uint64_t>(4 * bytes->size(), kMaxHeaderBytes)));
        bytes->reserve(size_t(wanted));
    }
}

}  // namespace lapidary::gguf
