// Arbitrary text in both directions, with the vocabulary of the model in the repository and with a small one of Gemma 3. The
// slow tokenizer says what must come out.
#include <algorithm>

#include "testing/fuzz.h"
#include "tokenizer/slow_tokenizer.h"
#include "tokenizer/stop_matcher.h"
#include "tokenizer/stream_decoder.h"

namespace lapidary::tokenizer {
namespace {

using testing::check;

// The slow one takes the square of a text's length.
constexpr size_t kLongest = 400;

struct Vocabularies {
    explicit Vocabularies(const char* path) : header(testing::repository_header(path)) {}

    gguf::Header header;
    std::shared_ptr<const Tokenizer> tokenizer = *Tokenizer::create(header);
    SlowTokenizer slow{header};
};

// The first byte of an input chooses.
const Vocabularies& vocabularies(uint8_t bits) {
    static const auto* merges = new Vocabularies("models/storyteller-q4_k_m.gguf");
    static const auto* scores = new Vocabularies("tests/data/fixtures/tiny-gemma3-q4km.gguf");
    return *((bits & 4) != 0 ? scores : merges);
}

// A character that is cut short, or no character at all, ends where the slow one does not see it.
bool is_utf8(std::string_view text) {
    Utf8Stream characters;
    return characters.feed(text) + characters.finish() == text;
}

// What comes back is what went in, unless the text has the space mark itself, which is read as a space, or a space right
// after a character that is cut short, which takes the mark's first bytes for its own.
bool comes_back(std::string_view text) {
    return text.find("▁") == std::string_view::npos && (is_utf8(text) || text.find(' ') == std::string_view::npos);
}

void fuzz_text(uint8_t bits, std::string_view text) {
    const auto& tokenizer = vocabularies(bits).tokenizer;
    const SlowTokenizer& slow = vocabularies(bits).slow;
    const bool parse_special = (bits & 1) != 0;
    const auto ids = tokenizer->encode(text, {.add_bos = false, .parse_special = parse_special});
    check(std::ranges::all_of(ids, [&](int32_t id) { return tokenizer->is_valid(id); }));
    if (is_utf8(text)) check(ids == slow.encode(text, parse_special));
    if (comes_back(text)) check(tokenizer->decode(ids, true) == text);

    const auto with_bos = tokenizer->encode(text, {.add_bos = true, .parse_special = parse_special});
    check(!with_bos.empty() && with_bos.front() == tokenizer->bos());
}

void fuzz_pieces(uint8_t bits, uint8_t seed, std::string_view text) {
    const Tokenizer& tokenizer = *vocabularies(bits).tokenizer;
    std::vector<TextPiece> pieces;
    uint32_t state = seed;
    for (std::string_view rest = text; !rest.empty();) {
        state = state * 1664525 + 1013904223;
        const size_t size = std::min<size_t>(rest.size(), 1 + (state >> 27));
        pieces.push_back({rest.substr(0, size), (bits & 1) != 0 && (state >> 20 & 1) != 0});
        rest.remove_prefix(size);
    }
    const auto ids = tokenizer.encode_pieces(pieces);
    const bool any_trusted = std::ranges::any_of(pieces, [](const TextPiece& piece) { return piece.trusted; });
    for (const int32_t id : ids) {
        check(tokenizer.is_valid(id));
        const TokenKind kind = tokenizer.kind(id);
        const bool special = kind == TokenKind::control || kind == TokenKind::unknown;
        check(!special || any_trusted);
    }
    if (comes_back(text)) check(tokenizer.decode(ids, true) == text);
    const TextPiece whole{text, true};
    check(tokenizer.encode_pieces({&whole, 1}) == tokenizer.encode(text, {.add_bos = false}));
}

// Two bytes an id, some of which are no tokens.
void fuzz_ids(uint8_t bits, std::string_view bytes) {
    const auto& tokenizer = vocabularies(bits).tokenizer;
    std::vector<int32_t> ids;
    for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
        const int32_t id = uint8_t(bytes[i]) << 8 | uint8_t(bytes[i + 1]);
        ids.push_back((bits & 2) != 0 && id > 0xFF00 ? -id : id % (tokenizer->size() + 16));
    }
    const bool special = (bits & 1) != 0;
    const std::string whole = tokenizer->decode(ids, special);
    StreamDecoder decoder(tokenizer, special);
    std::string streamed;
    for (const int32_t id : ids) {
        const std::string piece = decoder.feed(id);
        check(is_utf8(piece));
        streamed += piece;
    }
    streamed += decoder.finish();
    check(is_utf8(streamed));
    if (is_utf8(whole)) check(streamed == whole);
}

// The first line has the stop strings, a character each or several; the rest is the answer.
void fuzz_stops(uint8_t seed, std::string_view text) {
    const size_t line = std::min(text.find('\n'), text.size());
    std::vector<std::string> stops;
    for (size_t at = 0; at < line && stops.size() < 8;) {
        const size_t size = std::min<size_t>(1 + seed % 4, line - at);
        stops.emplace_back(text.substr(at, size));
        at += size;
    }
    const std::string_view answer = text.substr(std::min(line + 1, text.size()));
    StopMatcher whole(stops);
    const std::string at_once = whole.feed(answer) + whole.finish();
    StopMatcher split(stops);
    std::string in_parts;
    for (const char c : answer) in_parts += split.feed({&c, 1});
    const bool stopped = split.stopped();
    in_parts += split.finish();
    check(at_once == in_parts && answer.starts_with(at_once));
    check(stopped || at_once == answer);
    for (const std::string& stop : stops) check(at_once.find(stop) == std::string::npos);
}

}  // namespace
}  // namespace lapidary::tokenizer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lapidary::tokenizer;
    if (size < 2) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 2, std::min(size - 2, kLongest));
    switch (data[0] % 4) {
        case 0: fuzz_text(data[0] / 4, text); break;
        case 1: fuzz_pieces(data[0] / 4, data[1], text); break;
        case 2: fuzz_ids(data[0] / 4, text); break;
        default: fuzz_stops(data[1], text); break;
    }
    return 0;
}
