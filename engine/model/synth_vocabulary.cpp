#include "model/synth_vocabulary.h"

#include <string>
#include <string_view>
#include <vector>

namespace lapidary::model {
namespace {

// As tokenizer.ggml.token_type numbers them.
enum Kind : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kByte = 6 };

struct Special {
    std::string_view text;
    Kind kind;
};

// The first four have the ids that the keys below name.
constexpr Special kSpecial[] = {
    {"<pad>", kControl},
    {"<eos>", kControl},
    {"<bos>", kControl},
    {"<unk>", kUnknown},
    {"<|tool>", kControl},
    {"<tool|>", kControl},
    {"<|tool_call>", kUserDefined},
    {"<tool_call|>", kUserDefined},
    {"<|tool_response>", kUserDefined},
    {"<tool_response|>", kUserDefined},
    {"<|\"|>", kUserDefined},
    {"<|think|>", kControl},
    {"<|channel>", kUserDefined},
    {"<channel|>", kUserDefined},
    {"<|turn>", kControl},
    {"<turn|>", kControl},
    {"<|image>", kControl},
    {"<image|>", kControl},
    {"<|image|>", kControl},
    {"<|audio>", kControl},
    {"<audio|>", kControl},
    {"<|audio|>", kControl},
    {"<|video|>", kControl},
};

struct Merge {
    std::string_view left, right;
};
constexpr Merge kMerges[] = {
    {"t", "h"}, {"h", "e"}, {"th", "e"}, {"▁", "the"}, {"i", "n"}, {"in", "g"}, {"a", "n"}, {"an", "d"}, {"▁", "a"},
};

struct Tokens {
    std::vector<std::string> texts;
    std::vector<int32_t> kinds;

    void add(std::string text, Kind kind = kNormal) {
        texts.push_back(std::move(text));
        kinds.push_back(kind);
    }
};

Tokens list_tokens(uint32_t size) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    Tokens tokens;
    tokens.texts.reserve(size);
    tokens.kinds.reserve(size);
    for (const Special& special : kSpecial) tokens.add(std::string(special.text), special.kind);
    for (size_t byte = 0; byte < 256; ++byte) {
        tokens.add({'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'}, kByte);
    }
    tokens.add("▁");  // stands for a space
    tokens.add("\n");
    for (char c = '!'; c <= '~'; ++c) tokens.add(std::string(1, c));
    for (const Merge& merge : kMerges) tokens.add(std::string(merge.left) + std::string(merge.right));
    while (tokens.texts.size() < size) tokens.add("tok" + std::to_string(tokens.texts.size()));
    return tokens;
}

}  // namespace

void write_synthetic_vocabulary(uint32_t size, gguf::Writer& writer) {
    const Tokens tokens = list_tokens(size);
    std::vector<std::string> merges;
    for (const Merge& merge : kMerges) merges.push_back(std::string(merge.left) + " " + std::string(merge.right));
    std::vector<int32_t> suppressed;
    for (size_t id = 0; id < std::size(kSpecial); ++id) suppressed.push_back(int32_t(id));
    writer.set_string("tokenizer.ggml.model", "gemma4");
    writer.set_strings("tokenizer.ggml.tokens", tokens.texts);
    writer.set_i32s("tokenizer.ggml.token_type", tokens.kinds);
    writer.set_strings("tokenizer.ggml.merges", merges);
    writer.set_u32("tokenizer.ggml.padding_token_id", 0);
    writer.set_u32("tokenizer.ggml.eos_token_id", 1);
    writer.set_u32("tokenizer.ggml.bos_token_id", 2);
    writer.set_u32("tokenizer.ggml.unknown_token_id", 3);
    writer.set_bool("tokenizer.ggml.add_bos_token", true);
    writer.set_bool("tokenizer.ggml.add_space_prefix", false);
    writer.set_i32s("tokenizer.ggml.suppress_tokens", suppressed);
}

}  // namespace lapidary::model
