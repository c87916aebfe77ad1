#include "gguf/header.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace lapidary::gguf {

const Value* Header::find(std::string_view key) const {
    const auto position = key_index_.find(key);
    return position ? &keys[*position].value : nullptr;
}

const TensorInfo* Header::find_tensor(std::string_view name) const {
    const auto position = tensor_index_.find(name);
    return position ? &tensors[*position] : nullptr;
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
// (`wanted_` > 0, reported as NeedMore by run). Every read goes through `need`, so nothing is touched before it is
// known to lie inside both the prefix and the file. Positions are 64-bit even where size_t is not; what has been
// parsed is never beyond kMaxHeaderBytes.
class HeaderParser {
  public:
    HeaderParser(std::shared_ptr<const Bytes> prefix, uint64_t file_length)
        : prefix_(std::move(prefix)), file_length_(file_length) {}

    Result<std::variant<Header, NeedMore>> run() {
        auto status = parse();
        if (!status && wanted_ > 0) return NeedMore{std::min({wanted_ + least_ahead(), file_length_, kMaxHeaderBytes})};
        if (!status) return std::unexpected(std::move(status).error());
        header_.bytes = prefix_;
        header_.file_length = file_length_;
        return std::move(header_);
    }

  private:
    // The smallest encodings: a key has a length, one character, a type and one byte; a tensor has a length, one
    // character, a dimension count, a type and an offset; a string in an array has a length.
    static constexpr uint64_t kSmallestKey = 8 + 1 + 4 + 1;
    static constexpr uint64_t kSmallestTensor = 8 + 1 + 4 + 4 + 8;
    static constexpr uint64_t kSmallestString = 8;

    Status parse() {
        TRY(parse_start());
        for (; keys_left_ > 0; --keys_left_) TRY(parse_key());
        if (const auto twice = header_.key_index_.build(std::span(std::as_const(header_.keys)), &key_of)) {
            return fail(Code::bad_file, "metadata key '{}' occurs twice", printable(header_.keys[*twice].key));
        }
        header_.alignment = TRY(alignment_from(header_.find(kAlignmentKey)));
        for (; tensors_left_ > 0; --tensors_left_) TRY(parse_tensor());
        if (const auto twice = header_.tensor_index_.build(std::span(std::as_const(header_.tensors)), &name_of)) {
            return fail(Code::bad_file, "tensor '{}' occurs twice", printable(header_.tensors[*twice].name));
        }
        return place_tensors();
    }

    static std::string_view key_of(const KeyValue& entry) { return entry.key; }
    static std::string_view name_of(const TensorInfo& tensor) { return tensor.name; }

    Status parse_start() {
        if (file_length_ == 0) return fail(Code::bad_file, "the file is empty");
        // A file too short to hold the magic is no GGUF either; say that rather than "truncated".
        const uint64_t magic_bytes = std::min<uint64_t>(4, file_length_);
        TRY(need(magic_bytes, "the magic number"));
        if (magic_bytes < 4 || !std::equal(here(), here() + 4, "GGUF")) {
            return fail(Code::bad_file, "this is not a GGUF file (it does not start with 'GGUF')");
        }
        position_ += 4;
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
        tensors_left_ = TRY(check_count(n_tensors, kMaxTensors, kSmallestTensor, "tensors"));
        keys_left_ = TRY(check_count(n_keys, kMaxKeys, kSmallestKey, "metadata keys"));
        return {};
    }

    Result<uint64_t> check_count(int64_t count, uint64_t most, uint64_t smallest, std::string_view what) const {
        if (count < 0 || uint64_t(count) > remaining() / smallest) {
            return fail(Code::bad_file, "the file claims to have {} {}, which do not fit in its {} bytes", count, what,
                        file_length_);
        }
        if (uint64_t(count) > most) {
            return fail(Code::limit, "the file has {} {}; at most {} are supported", count, what, most);
        }
        return uint64_t(count);
    }

    Status parse_key() {
        subject_ = {"metadata key", {}, header_.keys.size()};
        const auto key = TRY(string("its name"));
        if (key.empty()) return fail(Code::bad_file, "{} has no name", subject());
        subject_.name = key;
        if (key.size() > kMaxKeyBytes) {
            return fail(Code::bad_file, "{} has a name longer than {} bytes", subject(), kMaxKeyBytes);
        }
        const auto type = ValueType(TRY(scalar<int32_t>("its type")));
        const auto value = TRY(parse_value(type));
        header_.keys.push_back({key, value});
        return {};
    }

    Result<Value> parse_value(ValueType type) {
        const uint64_t begin = position_;
        if (const uint32_t size = fixed_size(type); size > 0) {
            TRY(need(size, "its value"));
            position_ += size;
        } else if (type == ValueType::string) {
            TRY(string("its text"));
        } else if (type == ValueType::array) {
            TRY(parse_array());
        } else {
            return fail(Code::bad_file, "{} has unknown value type {}", subject(), int32_t(type));
        }
        return Value(type, std::span(*prefix_).subspan(size_t(begin), size_t(position_ - begin)));
    }

    Status parse_array() {
        const auto element = ValueType(TRY(scalar<int32_t>("its element type")));
        if (element == ValueType::array) {
            return fail(Code::bad_file, "{} is an array of arrays, which GGUF does not allow", subject());
        }
        const uint64_t size = element == ValueType::string ? kSmallestString : fixed_size(element);
        if (size == 0) {
            return fail(Code::bad_file, "{} is an array of unknown type {}", subject(), int32_t(element));
        }
        const auto count = TRY(scalar<uint64_t>("its length"));
        if (count > kMaxArrayElements || count > remaining() / size) {
            return fail(Code::bad_file, "{} claims {} elements, more than the file can hold", subject(), count);
        }
        if (element != ValueType::string) {
            TRY(need(count * size, "its elements"));
            position_ += count * size;
            return {};
        }
        for (strings_left_ = count; strings_left_ > 0; --strings_left_) TRY(string("its strings"));
        return {};
    }

    Status parse_tensor() {
        TensorInfo tensor;
        subject_ = {"tensor", {}, header_.tensors.size()};
        tensor.name = TRY(string("its name"));
        if (tensor.name.empty()) return fail(Code::bad_file, "{} has no name", subject());
        subject_.name = tensor.name;
        if (tensor.name.size() > kMaxTensorName) {
            return fail(Code::bad_file, "{} has a name longer than {} bytes", subject(), kMaxTensorName);
        }
        tensor.n_dims = TRY(scalar<uint32_t>("its number of dimensions"));
        if (tensor.n_dims > kMaxDims) {
            return fail(Code::bad_file, "{} has {} dimensions; at most {} are allowed", subject(), tensor.n_dims,
                        kMaxDims);
        }
        for (uint32_t i = 0; i < tensor.n_dims; ++i) tensor.ne[i] = TRY(scalar<uint64_t>("its dimensions"));
        const auto type_id = TRY(scalar<int32_t>("its type"));
        tensor.type = find_tensor_type(type_id);
        if (tensor.type == nullptr) {
            return fail(Code::unsupported, "{} has type {}, which is unknown or retired", subject(), type_id);
        }
        tensor.range.size = TRY(tensor_bytes(tensor.name, *tensor.type, tensor.dims()));
        tensor.range.offset = TRY(scalar<uint64_t>("its offset"));
        if (tensor.range.offset % header_.alignment != 0) {
            return fail(Code::bad_file, "{} starts at offset {}, not a multiple of the alignment {}", subject(),
                        tensor.range.offset, header_.alignment);
        }
        header_.tensors.push_back(tensor);
        return {};
    }

    // Turns offsets in the data section into ranges of the file, each checked to be inside it and apart from
    // its neighbours.
    Status place_tensors() {
        const auto start = checked_align_up<uint64_t>(position_, header_.alignment);
        if (!start) return fail(Code::bad_file, "the data section starts beyond what can be counted");
        header_.data_start = *start;
        for (TensorInfo& tensor : header_.tensors) {
            const auto begin = checked_add(*start, tensor.range.offset);
            const auto end = begin ? checked_add(*begin, tensor.range.size) : std::nullopt;
            if (!end || *end > file_length_) {
                return fail(Code::truncated,
                            "tensor '{}' ends beyond the end of the file, which has {} bytes: the download or copy is "
                            "not complete",
                            printable(tensor.name), file_length_);
            }
            tensor.range.offset = *begin;
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

    [[nodiscard]] const uint8_t* here() const { return prefix_->data() + size_t(position_); }
    [[nodiscard]] uint64_t remaining() const { return file_length_ - position_; }

    // At least this much follows what is being parsed now: it spares a source with slow round trips most of them.
    [[nodiscard]] uint64_t least_ahead() const {
        const auto others = [](uint64_t left) { return left > 0 ? left - 1 : 0; };  // without the one being parsed
        if (keys_left_ == 0) return others(tensors_left_) * kSmallestTensor;
        return others(strings_left_) * kSmallestString + others(keys_left_) * kSmallestKey +
               tensors_left_ * kSmallestTensor;
    }

    // Makes sure that `bytes` more can be read here: an error if the file is too short, NeedMore if only the
    // prefix is.
    Status need(uint64_t bytes, std::string_view what) {
        if (bytes > remaining()) {
            return fail(Code::truncated,
                        "the file ends in the middle of {} ({}), after {} bytes: the download or copy is not complete",
                        subject(), what, file_length_);
        }
        const uint64_t end = position_ + bytes;
        if (end > kMaxHeaderBytes) {
            return fail(Code::limit, "the header is larger than {}", format_bytes(kMaxHeaderBytes));
        }
        if (end > prefix_->size()) {
            wanted_ = end;
            return std::unexpected(Error{Code::truncated, {}});  // never shown: run() turns it into NeedMore
        }
        return {};
    }

    template <class T>
    Result<T> scalar(std::string_view what) {
        TRY(need(sizeof(T), what));
        const T value = load<T>(here());
        position_ += sizeof(T);
        return value;
    }

    Result<std::string_view> string(std::string_view what) {
        const auto length = TRY(scalar<uint64_t>(what));
        if (length > kMaxStringBytes || length > remaining()) {
            return fail(Code::bad_file, "{} ({}) claims {} bytes, more than the file can hold", subject(), what,
                        length);
        }
        TRY(need(length, what));
        const std::string_view text(reinterpret_cast<const char*>(here()), size_t(length));
        position_ += length;
        return text;
    }

    // What is being parsed, for sentences: "metadata key 'general.name'", or by number while it has no name.
    [[nodiscard]] std::string subject() const {
        if (!subject_.name.empty()) return format("{} '{}'", subject_.kind, printable(subject_.name));
        if (subject_.kind == kStart) return std::string(kStart);
        return format("{} number {}", subject_.kind, subject_.position + 1);
    }

    static constexpr std::string_view kStart = "the start";
    struct Subject {
        std::string_view kind = kStart;
        std::string_view name;
        size_t position = 0;
    };

    std::shared_ptr<const Bytes> prefix_;
    uint64_t file_length_;
    uint64_t position_ = 0;
    uint64_t wanted_ = 0;
    uint64_t keys_left_ = 0;     // with the one being parsed
    uint64_t tensors_left_ = 0;  // the same
    uint64_t strings_left_ = 0;  // the same, of the array being parsed
    Subject subject_;
    Header header_;
};

Result<std::variant<Header, NeedMore>> parse_header(const std::shared_ptr<const Bytes>& prefix, uint64_t file_length) {
    return HeaderParser(prefix, file_length).run();
}

Task<Result<Header>> read_header(ByteSource& source, Cancel cancel) {
    // 64 KiB holds the header of a file without a vocabulary. Each further round at least doubles what is there, so
    // parsing from the start again costs no more than parsing the whole header twice.
    constexpr uint64_t kFirstRead = 64 << 10;
    const uint64_t length = source.size();
    if (length == 0) co_return fail(Code::bad_file, "the file is empty");  // and nothing to ask the source for
    auto bytes = std::make_shared<Bytes>();
    uint64_t wanted = std::min(kFirstRead, length);
    while (true) {
        CO_TRY(cancel.check());
        const uint64_t have = bytes->size();
        bytes->reserve(size_t(wanted));
        {
            const Bytes more = CO_TRY(co_await source.read({have, wanted - have}, cancel));
            // A source that breaks its promise must not make this loop spin.
            if (more.size() != wanted - have) {
                co_return fail(Code::io, "asked for {} bytes at offset {}, but got {}", wanted - have, have,
                               more.size());
            }
            bytes->insert(bytes->end(), more.begin(), more.end());
        }
        auto parsed = CO_TRY(parse_header(bytes, length));
        if (auto* header = std::get_if<Header>(&parsed)) co_return std::move(*header);
        const uint64_t asked = std::get<NeedMore>(parsed).bytes;
        wanted = std::min({length, kMaxHeaderBytes, std::max(asked, 2 * wanted)});
    }
}

}  // namespace lapidary::gguf
