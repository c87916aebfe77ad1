#include "tokenizer/vocabulary.h"

#include <algorithm>

#include "base/edition.h"
#include "tokenizer/gemma3_tokens.h"

namespace lapidary::tokenizer {
namespace {

using gguf::ValueType;

// What Gemma 4 calls its special tokens. Writers of files disagree about their types, so the text decides.
struct KnownToken {
    std::string_view text;
    TokenKind kind;
};
constexpr std::array kKnownTokens = {
    KnownToken{"<pad>", TokenKind::control},
    KnownToken{"<eos>", TokenKind::control},
    KnownToken{"<bos>", TokenKind::control},
    KnownToken{"<unk>", TokenKind::unknown},
    KnownToken{"<|tool>", TokenKind::control},
    KnownToken{"<tool|>", TokenKind::control},
    KnownToken{"<|tool_call>", TokenKind::user_defined},
    KnownToken{"<tool_call|>", TokenKind::user_defined},
    KnownToken{"<|tool_response>", TokenKind::user_defined},
    KnownToken{"<tool_response|>", TokenKind::user_defined},
    KnownToken{"<|\"|>", TokenKind::user_defined},
    KnownToken{"<|think|>", TokenKind::control},
    KnownToken{"<|channel>", TokenKind::user_defined},
    KnownToken{"<channel|>", TokenKind::user_defined},
    KnownToken{"<|turn>", TokenKind::control},
    KnownToken{"<turn|>", TokenKind::control},
    KnownToken{"<|image>", TokenKind::control},
    KnownToken{"<image|>", TokenKind::control},
    KnownToken{"<|image|>", TokenKind::control},
    KnownToken{"<|audio>", TokenKind::control},
    KnownToken{"<audio|>", TokenKind::control},
    KnownToken{"<|audio|>", TokenKind::control},
    KnownToken{"<|video|>", TokenKind::control},
    // An HTML tag like its neighbours in the vocabulary, though other models end their answers with it.
    KnownToken{"</s>", TokenKind::normal},
};
// A turn is over, or a tool has to answer.
constexpr std::array<std::string_view, 3> kEndTexts = {"<eos>", "<turn|>", "<|tool_response>"};
constexpr std::array<std::string_view, 3> kGemma3EndTexts = {"<eos>", "<end_of_turn>", "<start_function_response>"};

std::optional<uint8_t> hex_digit(char c) {
    if (c >= '0' && c <= '9') return uint8_t(c - '0');
    if (c >= 'A' && c <= 'F') return uint8_t(c - 'A' + 10);
    return std::nullopt;
}

// "<0x41>" → 0x41.
std::optional<uint8_t> byte_of(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
    const auto high = hex_digit(text[3]);
    const auto low = hex_digit(text[4]);
    if (!high || !low) return std::nullopt;
    return uint8_t(*high << 4 | *low);
}

TokenKind kind_from_file(int64_t type) {
    switch (type) {
        case 2: return TokenKind::unknown;
        case 3: return TokenKind::control;
        case 4: return TokenKind::user_defined;
        default: return TokenKind::normal;  // also 6, byte: only the text <0xXX> makes a byte token
    }
}

// The two dialects of Gemma 4: llama.cpp names the tokenizer, Ollama names SentencePiece and then the Gemma 4 rules. Gemma 3
// has SentencePiece as it is.
Result<Scheme> read_scheme(const gguf::Header& header) {
    const gguf::Value* value = header.find("tokenizer.ggml.model");
    if (value == nullptr) {
        return fail(Code::not_found, "this file has no vocabulary: it has no key tokenizer.ggml.model");
    }
    const auto model = value->as_string();
    if (!model) return fail(Code::bad_file, "tokenizer.ggml.model should be a string");
    const auto pre = header.string("tokenizer.ggml.pre").value_or("");
    if (*model == "gemma4" || (*model == "llama" && pre == "gemma4")) return Scheme::merges;
    if (*model == "llama") {
        if (!has_everything()) return fail(Code::needs_everything, "this is a vocabulary of the Gemma 3 family");
        return Scheme::scores;
    }
    return fail(Code::unsupported,
                "the vocabulary is of the kind '{}' (pre-tokenizer '{}'); only Gemma 4's, 'gemma4', and Gemma 3's, "
                "'llama', can be read",
                printable(*model), printable(pre));
}

// Files of Gemma 3 may name more tokens than the model has rows for: those of pictures.
uint64_t rows_of_tokens(const gguf::Header& header) {
    const gguf::TensorInfo* rows = header.find_tensor("token_embd.weight");
    return rows == nullptr || rows->ne[1] == 0 ? kMaxTokens : rows->ne[1];
}

}  // namespace

Result<gguf::Array> string_array(const gguf::Header& header, std::string_view key, uint64_t limit) {
    const gguf::Value* value = header.find(key);
    if (value == nullptr) return fail(Code::not_found, "the vocabulary is incomplete: the file has no {}", key);
    const auto array = value->as_array();
    if (!array) {
        return fail(Code::bad_file, "{} should be an array of strings and is a {}", key,
                    gguf::value_type_name(value->type()));
    }
    if (array->element_type() != ValueType::string) {
        return fail(Code::bad_file, "{} should be an array of strings and is one of {}", key,
                    gguf::value_type_name(array->element_type()));
    }
    if (array->size() == 0) return fail(Code::bad_file, "{} is empty", key);
    if (array->size() > limit) {
        return fail(Code::limit, "{} has {} elements; at most {} are accepted", key, array->size(), limit);
    }
    return *array;
}

Result<Vocabulary> Vocabulary::read(const gguf::Header& header) {
    Vocabulary vocabulary;
    vocabulary.scheme_ = TRY(read_scheme(header));
    TRY(vocabulary.read_texts(header));
    TRY(vocabulary.read_kinds(header));
    TRY(vocabulary.find_bytes());
    TRY(vocabulary.find_bos(header));
    TRY(vocabulary.find_eos(header));
    TRY(vocabulary.find_ends(header));
    return vocabulary;
}

Status Vocabulary::read_texts(const gguf::Header& header) {
    static_assert(gguf::kMaxHeaderBytes <= 0xFFFFFFFFu, "offsets into the header are kept in 32 bits");
    const gguf::Array tokens = TRY(string_array(header, "tokenizer.ggml.tokens", kMaxTokens));
    bytes_ = header.bytes;
    const bool is_gemma3 = has_everything() && scheme_ == Scheme::scores;
    const uint64_t count = is_gemma3 ? std::min(tokens.size(), rows_of_tokens(header)) : tokens.size();
    offsets_.reserve(size_t(count));
    index_ = HashIndex(size_t(count));
    bool indexed = true;
    tokens.for_each_string([&](uint64_t id, std::string_view text) {
        if (id >= count) return;
        offsets_.push_back(uint32_t(reinterpret_cast<const uint8_t*>(text.data()) - bytes_->data() - 8));
        if (text.empty() || !indexed) return;  // no piece of text is empty
        const uint32_t first = index_.find_or_add(hash_text(text), uint32_t(id),
                                                  [&](uint32_t other) { return this->text(other) == text; });
        indexed = first != HashIndex::kNone;
        texts_differ_ = texts_differ_ && first == id;
    });
    if (!indexed) return fail(Code::bad_file, "the texts of the vocabulary are chosen to make searching it slow");
    return {};
}

Status Vocabulary::read_kinds(const gguf::Header& header) {
    kinds_.assign(size(), TokenKind::normal);
    if (const gguf::Value* value = header.find("tokenizer.ggml.token_type")) {
        const auto types = value->as_array();
        if (!types || types->element_type() == ValueType::string || types->element_type() == ValueType::array) {
            return fail(Code::bad_file, "tokenizer.ggml.token_type should be an array of integers");
        }
        const bool enough = scheme_ == Scheme::scores ? types->size() >= size() : types->size() == size();
        if (!enough) {
            return fail(Code::bad_file, "the vocabulary has {} tokens, but tokenizer.ggml.token_type has {} elements",
                        size(), types->size());
        }
        for (uint32_t id = 0; id < size(); ++id) {
            const auto type = types->at(id).as_integer();
            if (!type || *type < 0 || *type > 6) {
                return fail(Code::bad_file, "tokenizer.ggml.token_type should hold integers from 0 to 6: see token {}",
                            id);
            }
            kinds_[id] = kind_from_file(*type);
        }
    }
    if (has_everything() && scheme_ == Scheme::scores) {
        for (uint32_t id = 0; id < size(); ++id) kinds_[id] = gemma3_kind(text(id), kinds_[id]);
        return {};
    }
    for (const KnownToken& known : kKnownTokens) {
        if (const auto id = find(known.text)) kinds_[*id] = known.kind;
    }
    return {};
}

Status Vocabulary::find_bytes() {
    byte_tokens_.fill(HashIndex::kNone);
    for (uint32_t id = 0; id < size(); ++id) {
        const auto byte = byte_of(text(id));
        if (!byte) continue;
        kinds_[id] = TokenKind::byte;
        byte_tokens_[*byte] = std::min(byte_tokens_[*byte], id);
    }
    const auto missing = std::ranges::find(byte_tokens_, HashIndex::kNone);
    if (missing != byte_tokens_.end()) {
        return fail(Code::bad_file, "the vocabulary has no token for the byte {}: some texts could not be written",
                    missing - byte_tokens_.begin());
    }
    return {};
}

Status Vocabulary::find_bos(const gguf::Header& header) {
    if (const gguf::Value* value = header.find("tokenizer.ggml.bos_token_id")) {
        const auto id = value->as_integer();
        if (!id || *id < 0 || *id >= int64_t(size())) {
            return fail(Code::bad_file, "tokenizer.ggml.bos_token_id ({}) is not a token: there are {}",
                        id ? std::to_string(*id) : "not an integer", size());
        }
        bos_ = uint32_t(*id);
        return {};
    }
    const auto id = find("<bos>");
    if (!id) {
        return fail(Code::bad_file,
                    "the vocabulary does not say how a text begins: it has no bos_token_id and no <bos>");
    }
    bos_ = *id;
    return {};
}

Status Vocabulary::find_eos(const gguf::Header& header) {
    const gguf::Value* adds = header.find("tokenizer.ggml.add_eos_token");
    adds_eos_ = adds != nullptr && adds->as_bool() == true;
    if (const auto id = find("<eos>")) {
        eos_ = *id;
        return {};
    }
    const auto id = header.integer("tokenizer.ggml.eos_token_id");
    if (id && *id >= 0 && *id < int64_t(size())) {
        eos_ = uint32_t(*id);
        return {};
    }
    if (!adds_eos_) return {};
    return fail(Code::bad_file, "texts should end with a token, but the vocabulary has no eos_token_id and no <eos>");
}

Status Vocabulary::find_ends(const gguf::Header& header) {
    for (const std::string_view text : scheme_ == Scheme::scores ? kGemma3EndTexts : kEndTexts) {
        if (const auto id = find(text)) ends_.push_back(*id);
    }
    if (const gguf::Value* value = header.find("tokenizer.ggml.eos_token_id")) {
        TRY(add_end(value->as_integer().value_or(-1), "tokenizer.ggml.eos_token_id"));
    }
    if (const gguf::Value* value = header.find("tokenizer.ggml.eos_token_ids")) {
        const auto ids = value->as_array();
        if (!ids || ids->element_type() == ValueType::string || ids->element_type() == ValueType::array) {
            return fail(Code::bad_file, "tokenizer.ggml.eos_token_ids should be an array of integers");
        }
        if (ids->size() > size())
            return fail(Code::bad_file, "tokenizer.ggml.eos_token_ids has more elements than there are tokens");
        for (uint64_t i = 0; i < ids->size(); ++i) {
            TRY(add_end(ids->at(i).as_integer().value_or(-1), "tokenizer.ggml.eos_token_ids"));
        }
    }
    std::ranges::sort(ends_);
    const auto repeated = std::ranges::unique(ends_);
    ends_.erase(repeated.begin(), repeated.end());
    return {};
}

Status Vocabulary::add_end(int64_t id, std::string_view key) {
    if (id < 0 || id >= int64_t(size())) {
        return fail(Code::bad_file, "{} holds something that is not a token: there are {} of them", key, size());
    }
    if (text(uint32_t(id)) != "</s>") ends_.push_back(uint32_t(id));
    return {};
}

uint8_t Vocabulary::byte_value(uint32_t id) const {
    return byte_of(text(id)).value_or(0);
}

size_t Vocabulary::memory() const {
    return offsets_.capacity() * sizeof(uint32_t) + kinds_.capacity() * sizeof(TokenKind) + index_.memory() +
           ends_.capacity() * sizeof(uint32_t) + sizeof(*this);
}

}  // namespace lapidary::tokenizer
