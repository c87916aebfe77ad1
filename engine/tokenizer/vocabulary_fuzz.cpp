// A tokenizer made from what a file says: arbitrary metadata, and a small vocabulary that lines of text add to.
//   build/fuzz/engine/vocabulary_fuzz -max_len=4096 NEW_FINDINGS tests/data/fuzz/vocabulary
#include <algorithm>
#include <cstdint>
#include <string>

#include "testing/fuzz.h"
#include "tokenizer/tokenizer.h"

namespace lapidary::tokenizer {
namespace {

using testing::check;

// Whatever a file made of it, a tokenizer keeps its promises.
void check_tokenizer(const gguf::Header& header) {
    const auto made = Tokenizer::create(header);
    if (!made) {
        check(!made.error().message.empty());
        return;
    }
    const Tokenizer& tokenizer = **made;
    check(tokenizer.size() > 0 && uint64_t(tokenizer.size()) <= kMaxTokens);
    check(tokenizer.is_valid(tokenizer.bos()));
    for (const uint32_t id : tokenizer.ends_of_generation()) {
        check(tokenizer.is_valid(int32_t(id)) && tokenizer.is_end_of_generation(int32_t(id)));
    }
    const int32_t some = std::min(tokenizer.size(), 600);
    for (int32_t id = 0; id < some; ++id) {
        const std::string_view text = tokenizer.text(id);
        if (text.empty()) continue;
        const auto found = tokenizer.find(text);
        check(found.has_value() && *found <= id && tokenizer.text(*found) == text);
    }
    for (const std::string_view text : {"a b", "abab  \n\n<|turn>x<turn|>", "\xE2\x96\xE2 \xFF", "aaaaaaaaaaaaaaaa"}) {
        for (const bool parse_special : {false, true}) {
            const auto ids = tokenizer.encode(text, {.add_bos = false, .parse_special = parse_special});
            check(std::ranges::all_of(ids, [&](int32_t id) { return tokenizer.is_valid(id); }));
            check(tokenizer.decode(ids, true).size() >= text.size() / 2);
        }
    }
}

void fuzz_file(std::span<const uint8_t> file) {
    const auto bytes = std::make_shared<const Bytes>(file.begin(), file.end());
    const auto parsed = gguf::parse_header(bytes, bytes->size());
    if (parsed && std::holds_alternative<gguf::Header>(*parsed)) check_tokenizer(std::get<gguf::Header>(*parsed));
}

int32_t number_in(std::string_view text) {
    int64_t value = 0;
    const bool negative = text.starts_with('-');
    for (const char c : text.substr(negative ? 1 : 0, 9)) value = value * 10 + (c - '0');
    return int32_t(negative ? -value : value);
}

// A complete vocabulary of bytes and a few letters, and what the lines add to it: `tTOKEN`, `kKIND` of the token before,
// `mMERGE`, `sSCORE` of the token before, `bID` that begins a text, `eID` that ends one, `-` instead of the bytes, `?MODEL`
// of tokenizer.
void fuzz_lines(uint8_t bits, std::string_view lines) {
    std::vector<std::string> tokens = {"<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>", "</s>", "▁"};
    if ((bits & 1) == 0) {
        for (int byte = 0; byte < 256; ++byte) {
            constexpr std::string_view kDigits = "0123456789ABCDEF";
            tokens.push_back(std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + '>');
        }
    }
    for (const char c : {'a', 'b', 'c'}) tokens.emplace_back(1, c);
    std::vector<int32_t> kinds(tokens.size(), 1);
    std::vector<float> scores(tokens.size(), 0);
    std::vector<std::string> merges = {"a b"};
    std::vector<int32_t> ends;
    std::string model = "gemma4";
    int32_t bos = 2;
    while (!lines.empty()) {
        const size_t end = std::min(lines.find('\n'), lines.size());
        const std::string_view line = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (line.empty()) continue;
        const std::string_view rest = line.substr(1);
        switch (line[0]) {
            case 't':
                tokens.emplace_back(rest);
                kinds.push_back(1);
                scores.push_back(-float(scores.size()));
                break;
            case 's': scores.back() = float(number_in(rest)); break;
            case 'k': kinds.back() = number_in(rest); break;
            case 'm': merges.emplace_back(rest); break;
            case 'b': bos = number_in(rest); break;
            case 'e': ends.push_back(number_in(rest)); break;
            case '?': model = rest; break;
            default: break;
        }
    }
    gguf::Writer writer;
    writer.set_string("tokenizer.ggml.model", model);
    writer.set_strings("tokenizer.ggml.tokens", tokens);
    if ((bits & 2) == 0) writer.set_i32s("tokenizer.ggml.token_type", kinds);
    writer.set_strings("tokenizer.ggml.merges", merges);
    writer.set_f32s("tokenizer.ggml.scores", scores);
    if ((bits & 4) == 0) writer.set_i32("tokenizer.ggml.bos_token_id", bos);
    if (!ends.empty()) writer.set_i32s("tokenizer.ggml.eos_token_ids", ends);
    if (const auto header = testing::header_of(writer)) check_tokenizer(*header);
}

}  // namespace
}  // namespace lapidary::tokenizer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lapidary::tokenizer;
    if (size < 1) return 0;
    if (data[0] % 4 == 0) {
        fuzz_file({data + 1, size - 1});
    } else {
        fuzz_lines(data[0] / 4, {reinterpret_cast<const char*>(data) + 1, size - 1});
    }
    return 0;
}
