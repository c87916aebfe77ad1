// The tokenizer of Gemma 3: what others make of these texts, the slow tokenizer on texts drawn at random, and files that
// say less than they should.
#include "tokenizer/scores.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gguf/writer.h"
#include "testing/files.h"
#include "tokenizer/random_texts.h"
#include "tokenizer/stream_decoder.h"

namespace lapidary::tokenizer {
namespace {

using Json = nlohmann::json;

std::string from_hex(const std::string& hex) {
    std::string out;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) out += char(std::stoi(hex.substr(i, 2), nullptr, 16));
    return out;
}

std::string text_or_bytes(const Json& at) {
    return at.contains("hex") ? from_hex(at["hex"]) : at["text"].get<std::string>();
}

Json vectors() {
    const auto text = testing::read_text("tests/data/vocab/gemma3-token-vectors.json");
    return text ? Json::parse(*text, nullptr, false) : Json();
}

// What SentencePiece vocabularies must have at least, and the letters a to z, a lower id being the better score.
TestVocabulary small_vocabulary() {
    TestVocabulary out;
    out.set("tokenizer.ggml.model", TestVocabulary::text("llama"));
    out.set("tokenizer.ggml.pre", TestVocabulary::text("default"));
    out.leave_out("tokenizer.ggml.merges");
    return out;
}

void set_scores(TestVocabulary& vocabulary) {
    std::vector<float> scores;
    for (size_t id = 0; id < vocabulary.tokens.size(); ++id) scores.push_back(-float(id));
    vocabulary.set("tokenizer.ggml.scores", TestVocabulary::floats(scores));
}

void expect_vectors(const Tokenizer& tokenizer, bool images_are_text) {
    const Json all = vectors();
    ASSERT_EQ(all["vectors"].size(), 300u);
    for (const Json& vector : all["vectors"]) {
        const std::string text = text_or_bytes(vector);
        if (images_are_text && text.contains("_of_image>")) continue;  // user-defined in one file, control in another
        const bool parse = vector["parse_special"];
        const auto ids = tokenizer.encode(text, {.add_bos = false, .parse_special = parse});
        EXPECT_EQ(ids, vector["ids"].get<std::vector<int32_t>>()) << vector.dump();
        const std::string back = vector.contains("decodes_to_hex") ? from_hex(vector["decodes_to_hex"]) : text;
        EXPECT_EQ(tokenizer.decode(ids, true), back) << vector.dump();
        const TextPiece whole{text, true};
        if (parse) EXPECT_EQ(tokenizer.encode_pieces({&whole, 1}), ids) << vector.dump();
    }
    for (const Json& vector : all["decode"]) {
        const auto ids = vector["ids"].get<std::vector<int32_t>>();
        if (images_are_text && vector.dump().contains("_of_image>")) continue;
        EXPECT_EQ(tokenizer.decode(ids, true), text_or_bytes(vector["special_shown"])) << vector.dump();
        EXPECT_EQ(tokenizer.decode(ids, false), text_or_bytes(vector["special_hidden"])) << vector.dump();
    }
}

TEST(Scores, GiveTheTokensThatOthersGive) {
    LAPIDARY_NEEDS_GEMMA3();
    const Tokenizer& tokenizer = *gemma3()->tokenizer;
    expect_vectors(tokenizer, false);
    EXPECT_EQ(tokenizer.ends_of_generation(), (std::vector<uint32_t>{1, 106}));
    EXPECT_FALSE(tokenizer.is_end_of_generation(212)) << "</s> is an HTML tag here";
    EXPECT_EQ(tokenizer.bos(), 2);
    EXPECT_EQ(tokenizer.eos(), 1);
    EXPECT_FALSE(tokenizer.adds_eos());
    EXPECT_LT(tokenizer.memory() + gemma3()->header.bytes->size(), 20u << 20);
}

// As Ollama's blobs have it: every token of a text is normal, with a score of 0, and runs of spaces are written as marks.
TEST(Scores, TellWhatTokensAreForWhateverTheFileSays) {
    LAPIDARY_NEEDS_GEMMA3();
    const gguf::Header& header = gemma3()->header;
    TestVocabulary poor = small_vocabulary();
    poor.tokens.clear();
    poor.types.clear();
    std::vector<float> scores;
    header.find("tokenizer.ggml.tokens")->as_array()->for_each_string([&](uint64_t id, std::string_view text) {
        const auto kind = gemma3()->tokenizer->kind(int32_t(id));
        const bool spaces = text.starts_with("  ");
        std::string marks;
        for (size_t n = 0; n < text.size() && spaces; ++n) marks += kSpaceMark;
        poor.add(spaces ? marks : std::string(text), kind == TokenKind::byte ? 6 : 1);
        const auto score = header.find("tokenizer.ggml.scores")->as_array()->at(id).as_number();
        scores.push_back(kind == TokenKind::normal ? float(*score) : 0.0f);
    });
    poor.set("tokenizer.ggml.scores", TestVocabulary::floats(scores));
    const auto tokenizer = poor.create();
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    expect_vectors(**tokenizer, true);
}

TEST(Scores, EqualTheSlowTokenizer) {
    ASSERT_NE(small_gemma3(), nullptr);
    expect_equals_the_slow_one(*small_gemma3(), 11, 300);
    expect_round_trips(*small_gemma3()->tokenizer, 12, 1000);
    LAPIDARY_NEEDS_GEMMA3();
    expect_equals_the_slow_one(*gemma3(), 13, 200);
    expect_round_trips(*gemma3()->tokenizer, 14, 1000);
}

// Tokens that overlap in every way, several of one score, parts that are no tokens themselves.
TEST(Scores, EqualTheSlowTokenizerForVocabulariesOfAnyKind) {
    Random random(15);
    for (int round = 0; round < 60; ++round) {
        TestVocabulary vocabulary = small_vocabulary();
        std::vector<std::string> texts = {"a", "b", "▁", "é", "水", "\xE2", "\x96", "\n", "x"};
        for (uint32_t i = random.below(40); i > 0; --i) {
            const std::string both =
                texts[random.below(uint32_t(texts.size()))] + texts[random.below(uint32_t(texts.size()))];
            if (both.size() < 30) texts.push_back(both);
            const bool again = std::ranges::find(vocabulary.tokens, both) != vocabulary.tokens.end();
            const bool run = both.find_first_not_of('\n') == std::string::npos || both.starts_with("▁▁");
            if (!again && !run) vocabulary.add(both);
        }
        std::vector<float> scores;
        for (size_t id = 0; id < vocabulary.tokens.size(); ++id) scores.push_back(-float(random.below(30)));
        vocabulary.set("tokenizer.ggml.scores", TestVocabulary::floats(scores));
        const LoadedVocabulary loaded{vocabulary.header(), *vocabulary.create()};
        const SlowTokenizer slow(loaded.header);
        for (int i = 0; i < 30; ++i) {
            std::string text;
            for (uint32_t n = random.below(40); n > 0; --n) {
                text += random.below(4) == 0 ? " " : texts[random.below(uint32_t(texts.size()))];
            }
            ASSERT_EQ(loaded.tokenizer->encode(text, {.add_bos = false}), slow.encode(text, true))
                << "vocabulary " << round << ", text " << text;
        }
    }
}

// A method that takes time squared would not end within hours. The ellipsis has tokens of many lengths.
TEST(Scores, EncodeALongTextWithoutAnyPlaceToCutIt) {
    for (const LoadedVocabulary* vocabulary : {small_gemma3(), gemma3()}) {
        if (vocabulary == nullptr) continue;
        for (const std::string_view part : {"a", " ", "\n", "\xE2", "\xFF", "…", "<", "<b", "<start_of_", "aaaab"}) {
            std::string text;
            while (text.size() < kLongText) text += part;
            const auto ids = vocabulary->tokenizer->encode(text);
            EXPECT_EQ(vocabulary->tokenizer->decode(ids, false), text) << part;
        }
    }
}

TEST(Scores, FindRunsOfBlanksAcrossTheBordersOfPieces) {
    ASSERT_NE(small_gemma3(), nullptr);
    const Tokenizer& tokenizer = *small_gemma3()->tokenizer;
    const std::vector<TextPiece> pieces = {
        {"<start_of_turn>user\n", true}, {"\na <end_of_turn>", false}, {" \n", true}};
    const auto ids = tokenizer.encode_pieces(pieces);
    EXPECT_EQ(tokenizer.decode(ids, true), "<start_of_turn>user\n\na <end_of_turn> \n");
    EXPECT_EQ(std::ranges::count(ids, *tokenizer.find("\n\n")), 1);
    EXPECT_EQ(std::ranges::count(ids, *tokenizer.find("<end_of_turn>")), 0) << "nobody but the template ends a turn";
    EXPECT_EQ(ids[0], *tokenizer.find("<start_of_turn>"));
}

TEST(Scores, StreamAnAnswerCharacterByCharacter) {
    ASSERT_NE(small_gemma3(), nullptr);
    const auto& tokenizer = small_gemma3()->tokenizer;
    const std::string text = "naïve 水 🦙  x\n\n<b>y";
    StreamDecoder decoder(tokenizer);
    std::string streamed;
    for (const int32_t id : tokenizer->encode(text, {.add_bos = false})) {
        const std::string piece = decoder.feed(id);
        Utf8Stream characters;
        EXPECT_EQ(characters.feed(piece) + characters.finish(), piece) << "half a character";
        streamed += piece;
    }
    EXPECT_EQ(streamed + decoder.finish(), text);
}

TEST(Scores, EndATextWhereTheFileAsksForIt) {
    TestVocabulary vocabulary = small_vocabulary();
    set_scores(vocabulary);
    vocabulary.set("tokenizer.ggml.add_eos_token", TestVocabulary::flag(true));
    const auto tokenizer = vocabulary.create();
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_TRUE((*tokenizer)->adds_eos());
    const auto ids = (*tokenizer)->encode("a", {.add_eos = (*tokenizer)->adds_eos()});
    EXPECT_EQ(ids, (std::vector<int32_t>{2, *(*tokenizer)->find("a"), 1}));
}

TEST(Scores, RefuseWhatIsIncomplete) {
    const auto refusal = [](const TestVocabulary& vocabulary) {
        const auto made = vocabulary.create();
        return made ? std::string() : made.error().message;
    };
    TestVocabulary vocabulary = small_vocabulary();
    EXPECT_TRUE(refusal(vocabulary).contains("has no tokenizer.ggml.scores"));
    vocabulary.set("tokenizer.ggml.scores", TestVocabulary::floats(std::vector<float>{1, 2}));
    EXPECT_TRUE(refusal(vocabulary).contains("has 2 elements"));
    vocabulary.set("tokenizer.ggml.scores", TestVocabulary::text("none"));
    EXPECT_TRUE(refusal(vocabulary).contains("array of numbers"));
    vocabulary.set("tokenizer.ggml.scores",
                   TestVocabulary::floats(std::vector<float>(vocabulary.tokens.size(), std::nanf(""))));
    EXPECT_TRUE(refusal(vocabulary).contains("score of token 0 is not a number"));
    set_scores(vocabulary);
    EXPECT_EQ(refusal(vocabulary), "");
    vocabulary.set("tokenizer.ggml.model", TestVocabulary::text("t5"));
    EXPECT_TRUE(refusal(vocabulary).contains("'t5'"));
}

}  // namespace
}  // namespace lapidary::tokenizer
