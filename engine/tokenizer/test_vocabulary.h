// For tests: vocabularies made by hand, and those of real files.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gguf/header.h"
#include "testing/files.h"
#include "tokenizer/tokenizer.h"

namespace lapidary::tokenizer {

// The metadata of a file in the making. Starts as a small but complete vocabulary: special tokens, bytes, the
// space and the letters a to z, and the merge "a b" without a token "ab".
class TestVocabulary {
  public:
    TestVocabulary() {
        tokens = {"<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>", "<|tool_response>", "</s>"};
        types = {3, 3, 3, 2, 3, 3, 4, 1};
        for (int byte = 0; byte < 256; ++byte) {
            constexpr std::string_view kDigits = "0123456789ABCDEF";
            add(std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + '>', 6);
        }
        add("▁");
        for (char c = 'a'; c <= 'z'; ++c) add(std::string(1, c));
        merges = {"a b"};
        set("tokenizer.ggml.model", text("gemma4"));
        set("tokenizer.ggml.bos_token_id", number(2));
        set("tokenizer.ggml.eos_token_id", number(1));
    }

    std::vector<std::string> tokens;
    std::vector<int32_t> types;
    std::vector<std::string> merges;

    int32_t add(std::string token, int32_t type = 1) {
        tokens.push_back(std::move(token));
        types.push_back(type);
        return int32_t(tokens.size() - 1);
    }

    // Values as a file holds them, with their type in front.
    static std::string text(std::string_view value) { return word<int32_t>(8) + length_and(value); }
    static std::string number(uint32_t value) { return word<int32_t>(4) + word(value); }
    static std::string texts(const std::vector<std::string>& values) {
        std::string out = word<int32_t>(9) + word<int32_t>(8) + word<uint64_t>(values.size());
        for (const std::string& value : values) out += length_and(value);
        return out;
    }
    static std::string floats(const std::vector<float>& values) {
        std::string out = word<int32_t>(9) + word<int32_t>(6) + word<uint64_t>(values.size());
        for (const float value : values) out += word(value);
        return out;
    }
    static std::string flag(bool value) { return word<int32_t>(7) + word<uint8_t>(value ? 1 : 0); }
    static std::string numbers(const std::vector<int32_t>& values) {
        std::string out = word<int32_t>(9) + word<int32_t>(5) + word<uint64_t>(values.size());
        for (const int32_t value : values) out += word(value);
        return out;
    }

    // Sets a key, also one that would have been made from the lists above. An empty value leaves the key out.
    void set(const std::string& key, std::string value) { values_[key] = std::move(value); }
    void leave_out(const std::string& key) { values_[key] = ""; }

    [[nodiscard]] gguf::Header header() const {
        auto values = values_;
        values.emplace("tokenizer.ggml.tokens", texts(tokens));
        values.emplace("tokenizer.ggml.token_type", numbers(types));
        values.emplace("tokenizer.ggml.merges", texts(merges));
        std::erase_if(values, [](const auto& entry) { return entry.second.empty(); });
        std::string file = "GGUF" + word<uint32_t>(3) + word<uint64_t>(0) + word<uint64_t>(values.size());
        for (const auto& [key, value] : values) file += length_and(key) + value;
        file.resize((file.size() + 31) / 32 * 32);
        auto parsed = gguf::parse_header(std::make_shared<const Bytes>(file.begin(), file.end()), file.size());
        if (!parsed) {
            ADD_FAILURE() << parsed.error().message;
            return {};
        }
        return std::get<gguf::Header>(std::move(*parsed));
    }

    [[nodiscard]] Result<std::shared_ptr<const Tokenizer>> create() const { return Tokenizer::create(header()); }

  private:
    template <class T>
    static std::string word(T value) {
        return {reinterpret_cast<const char*>(&value), sizeof(value)};
    }
    static std::string length_and(std::string_view value) { return word<uint64_t>(value.size()) + std::string(value); }

    std::map<std::string, std::string> values_;
};

struct LoadedVocabulary {
    gguf::Header header;
    std::shared_ptr<const Tokenizer> tokenizer;
};

inline std::optional<LoadedVocabulary> load_vocabulary(std::optional<Bytes> file) {
    if (!file) return std::nullopt;
    MemorySource source(std::move(*file));
    auto header = *gguf::read_header(source, {}).run_now();
    if (!header) {
        ADD_FAILURE() << header.error().message;
        return std::nullopt;
    }
    auto tokenizer = Tokenizer::create(*header);
    if (!tokenizer) {
        ADD_FAILURE() << tokenizer.error().message;
        return std::nullopt;
    }
    return LoadedVocabulary{std::move(*header), std::move(*tokenizer)};
}

// Gemma 4's own vocabulary when it lies beside the repository; loaded once, for it takes a while.
inline const LoadedVocabulary* gemma() {
    static const auto loaded = load_vocabulary(lapidary::testing::read_vocabulary());
    return loaded ? &*loaded : nullptr;
}

// Gemma 3's, likewise.
inline const LoadedVocabulary* gemma3() {
    static const auto loaded = load_vocabulary(lapidary::testing::read_vocabulary("gemma3"));
    return loaded ? &*loaded : nullptr;
}

// The small one of a model of Gemma 3 among the fixtures.
inline const LoadedVocabulary* small_gemma3() {
    static const auto loaded =
        load_vocabulary(lapidary::testing::read_file("tests/data/fixtures/tiny-gemma3-q4km.gguf"));
    return loaded ? &*loaded : nullptr;
}

// The vocabulary of 8,192 tokens inside the model of the repository.
inline const LoadedVocabulary* storyteller() {
    static const auto loaded = load_vocabulary(lapidary::testing::read_file("models/storyteller-q4_k_m.gguf"));
    return loaded ? &*loaded : nullptr;
}

}  // namespace lapidary::tokenizer

#define LAPIDARY_NEEDS_GEMMA()                                                                               \
    if (gemma() == nullptr) {                                                                                \
        GTEST_SKIP() << "the vocabulary of Gemma 4 is not here: set LAPIDARY_VOCAB to a GGUF that holds it"; \
    }

#define LAPIDARY_NEEDS_GEMMA3()                                                                               \
    if (gemma3() == nullptr) {                                                                                \
        GTEST_SKIP() << "the vocabulary of Gemma 3 is not here: set LAPIDARY_VOCAB_GEMMA3 to a GGUF with it"; \
    }
