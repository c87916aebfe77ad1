#include "model/synth_vocabulary.h"

#include <span>
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

// What Gemma 3 has in their place.
constexpr Special kGemma3Special[] = {
    {"<pad>", kControl},
    {"<eos>", kControl},
    {"<bos>", kControl},
    {"<unk>", kUnknown},
    {"<mask>", kControl},
    {"[multimodal]", kUserDefined},
    {"<start_of_turn>", kControl},
    {"<end_of_turn>", kControl},
    {"<start_of_image>", kUserDefined},
    {"<end_of_image>", kUserDefined},
};

std::span<const Special> special_tokens(Family family) {
    if (family == Family::gemma3) return kGemma3Special;
    return kSpecial;
}

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

Tokens list_tokens(uint32_t size, Family family) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    Tokens tokens;
    tokens.texts.reserve(size);
    tokens.kinds.reserve(size);
    for (const Special& special : special_tokens(family)) tokens.add(std::string(special.text), special.kind);
    for (size_t byte = 0; byte < 256; ++byte) {
        tokens.add({'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'}, kByte);
    }
    tokens.add("▁");                 // stands for a space
    if (family == Family::gemma3) {  // runs of blanks are matched as they are
        for (size_t n = 1; n <= 31; ++n) tokens.add(std::string(n, '\n'), kUserDefined);
        for (size_t n = 2; n <= 31; ++n) tokens.add(std::string(n, ' '), kUserDefined);
    } else {
        tokens.add("\n");
    }
    for (char c = '!'; c <= '~'; ++c) tokens.add(std::string(1, c));
    for (const Merge& merge : kMerges) tokens.add(std::string(merge.left) + std::string(merge.right));
    while (tokens.texts.size() < size) tokens.add("tok" + std::to_string(tokens.texts.size()));
    return tokens;
}

}  // namespace

void write_synthetic_vocabulary(const Config& config, gguf::Writer& writer) {
    const Tokens tokens = list_tokens(config.vocabulary, config.family);
    std::vector<int32_t> suppressed;
    for (size_t id = 0; id < special_tokens(config.family).size(); ++id) suppressed.push_back(int32_t(id));
    writer.set_strings("tokenizer.ggml.tokens", tokens.texts);
    writer.set_i32s("tokenizer.ggml.token_type", tokens.kinds);
    if (config.family == Family::gemma3) {
        std::vector<float> scores;
        for (size_t id = 0; id < tokens.kinds.size(); ++id) {
            const float of_blank = tokens.kinds[id] == kByte ? 0.0f : -1000.0f;
            scores.push_back(tokens.kinds[id] == kNormal ? -float(id) : of_blank);
        }
        writer.set_string("tokenizer.ggml.model", "llama");
        writer.set_string("tokenizer.ggml.pre", "default");
        writer.set_f32s("tokenizer.ggml.scores", scores);
        writer.set_bool("tokenizer.ggml.add_eos_token", config.embedding.has_value());
    } else {
        std::vector<std::string> merges;
        for (const Merge& merge : kMerges) merges.push_back(std::string(merge.left) + " " + std::string(merge.right));
        writer.set_string("tokenizer.ggml.model", "gemma4");
        writer.set_strings("tokenizer.ggml.merges", merges);
    }
    writer.set_u32("tokenizer.ggml.padding_token_id", 0);
    writer.set_u32("tokenizer.ggml.eos_token_id", 1);
    writer.set_u32("tokenizer.ggml.bos_token_id", 2);
    writer.set_u32("tokenizer.ggml.unknown_token_id", 3);
    writer.set_bool("tokenizer.ggml.add_bos_token", true);
    writer.set_bool("tokenizer.ggml.add_space_prefix", false);
    writer.set_i32s("tokenizer.ggml.suppress_tokens", suppressed);
}

}  // namespace lapidary::model
