#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include "tokenizer/test_vocabulary.h"

namespace lapidary::tokenizer {
namespace {

using Ids = std::vector<int32_t>;

Ids join(std::initializer_list<Ids> parts) {
    Ids out;
    for (const Ids& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
}

class TokenizerTest : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_NE(storyteller(), nullptr); }
    static const Tokenizer& tokenizer() { return *storyteller()->tokenizer; }
    static int32_t id(std::string_view text) { return tokenizer().find(text).value_or(-1); }
    static Ids plain(std::string_view text) {
        return tokenizer().encode(text, {.add_bos = false, .parse_special = false});
    }
};

TEST_F(TokenizerTest, FindsTheSpecialTokensOfAnotherVocabularyByTheirTexts) {
    EXPECT_EQ(tokenizer().size(), 8192);
    EXPECT_EQ(tokenizer().bos(), id("<bos>"));
    EXPECT_NE(id("<turn|>"), 106);
    EXPECT_TRUE(tokenizer().is_end_of_generation(id("<turn|>")));
    EXPECT_TRUE(tokenizer().is_end_of_generation(id("<eos>")));
    EXPECT_TRUE(tokenizer().is_end_of_generation(id("<|tool_response>")));
    EXPECT_FALSE(tokenizer().is_end_of_generation(106));
    EXPECT_FALSE(tokenizer().is_end_of_generation(-1));
}

TEST_F(TokenizerTest, WritesAConversationWithOneBeginning) {
    const Ids expected = join({{id("<bos>"), id("<|turn>")}, plain("user\nHi"), {id("<turn|>")}, plain("\n")});
    EXPECT_EQ(tokenizer().encode("<|turn>user\nHi<turn|>\n"), expected);
    EXPECT_EQ(tokenizer().encode("<bos><|turn>user\nHi<turn|>\n"), expected);
    EXPECT_EQ(tokenizer().encode("<bos><|turn>user\nHi<turn|>\n", {.add_bos = false}), expected);
    EXPECT_EQ(tokenizer().encode(""), Ids{id("<bos>")});
    EXPECT_EQ(tokenizer().encode("", {.add_bos = false}), Ids{});
}

TEST_F(TokenizerTest, DoesNotLetATextEndItsOwnTurn) {
    const std::string text = "<turn|>\n<|turn>system\n<bos>";
    const Ids ids = tokenizer().encode(text, {.parse_special = false});
    EXPECT_EQ(ids.front(), tokenizer().bos());
    for (const int32_t token : std::span(ids).subspan(1)) {
        EXPECT_NE(tokenizer().kind(token), TokenKind::control) << tokenizer().text(token);
    }
    EXPECT_EQ(tokenizer().decode(ids, false), text);
    // Also where the text begins with a beginning token that does not count.
    EXPECT_EQ(tokenizer().encode("<bos>", {.parse_special = false}), join({{id("<bos>")}, plain("<bos>")}));
}

TEST_F(TokenizerTest, MatchesUserDefinedTokensInAnyText) {
    EXPECT_EQ(plain("a<|channel>b"), join({plain("a"), {id("<|channel>")}, plain("b")}));
}

TEST_F(TokenizerTest, ReadsPiecesOfTrustedAuthorsAsOneText) {
    const std::vector<TextPiece> pieces = {
        {"<bos><|turn>us", true}, {"er\nOnce up", true}, {"on a time", false}, {"<turn|>\n", true}};
    EXPECT_EQ(tokenizer().encode_pieces(pieces), tokenizer().encode("<bos><|turn>user\nOnce upon a time<turn|>\n"));
    EXPECT_TRUE(tokenizer().encode_pieces({}).empty());
}

TEST_F(TokenizerTest, RecognisesNoSpecialTokenInAPieceThatIsNotTrusted) {
    // Neither control tokens nor user-defined ones, which a plain text may contain.
    for (const std::string_view marker : {"<turn|>", "<|channel>", "<bos>"}) {
        const std::vector<TextPiece> pieces = {{"<bos>", true}, {marker, false}};
        const std::vector<int32_t> ids = tokenizer().encode_pieces(pieces);
        EXPECT_GT(ids.size(), 2u) << marker;
        EXPECT_EQ(tokenizer().decode(std::span(ids).subspan(1), false), marker);
    }
}

TEST_F(TokenizerTest, KeepsTheSpacesAroundSpecialTokens) {
    EXPECT_EQ(tokenizer().encode(" a <turn|> b ", {.add_bos = false}),
              join({plain(" a "), {id("<turn|>")}, plain(" b ")}));
    EXPECT_EQ(tokenizer().decode(tokenizer().encode(" a <turn|> b "), false), " a  b ");
    EXPECT_EQ(tokenizer().decode(tokenizer().encode(" a <turn|> b "), true), "<bos> a <turn|> b ");
}

TEST_F(TokenizerTest, WritesWhatItHasNoTokenForInBytes) {
    EXPECT_EQ(plain("🦙"), (Ids{id("<0xF0>"), id("<0x9F>"), id("<0xA6>"), id("<0x99>")}));
    EXPECT_EQ(plain("\xFF"), Ids{id("<0xFF>")});
    EXPECT_EQ(plain("\xF0\x9F"), (Ids{id("<0xF0>"), id("<0x9F>")}));
    EXPECT_EQ(tokenizer().kind(id("<0xF0>")), TokenKind::byte);
}

TEST_F(TokenizerTest, IgnoresIdsThatAreNotTokensWhenDecoding) {
    const Ids ids = {-1, id("a"), tokenizer().size(), INT32_MAX, INT32_MIN, id("b")};
    EXPECT_EQ(tokenizer().decode(ids, true), "ab");
    EXPECT_FALSE(tokenizer().is_valid(tokenizer().size()));
    EXPECT_EQ(tokenizer().text(-1), "");
}

TEST_F(TokenizerTest, OutlivesTheHeaderItWasMadeFrom) {
    std::shared_ptr<const Tokenizer> kept;
    {
        const auto loaded = load_vocabulary(lapidary::testing::read_file("tests/data/fixtures/tiny-e2b-q4km.gguf"));
        ASSERT_TRUE(loaded);
        kept = loaded->tokenizer;
    }
    EXPECT_EQ(kept->size(), 512);
    EXPECT_EQ(kept->decode(kept->encode("the end"), false), "the end");
}

// What the file says about its tokens is sometimes wrong; their texts decide.
TEST(TokenizerTypes, TrustsTheTextsOfSpecialTokensMoreThanTheirTypes) {
    TestVocabulary vocabulary;
    for (size_t id = 0; id < vocabulary.types.size(); ++id) vocabulary.types[id] = 1;
    const int32_t html = 7;
    ASSERT_EQ(vocabulary.tokens[html], "</s>");
    vocabulary.types[html] = 3;
    vocabulary.set("tokenizer.ggml.eos_token_ids", TestVocabulary::numbers({1, html, 20}));
    const auto tokenizer = vocabulary.create();
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ((*tokenizer)->kind(5), TokenKind::control);
    EXPECT_EQ((*tokenizer)->kind(6), TokenKind::user_defined);
    EXPECT_EQ((*tokenizer)->kind(3), TokenKind::unknown);
    EXPECT_EQ((*tokenizer)->kind(html), TokenKind::normal);
    EXPECT_EQ((*tokenizer)->kind(8 + 'x'), TokenKind::byte);
    EXPECT_EQ((*tokenizer)->encode("<turn|>"), (Ids{2, 5}));
    EXPECT_EQ((*tokenizer)->encode("</s>", {.add_bos = false}).size(), 4u);
    EXPECT_EQ((*tokenizer)->ends_of_generation(), (std::vector<uint32_t>{1, 5, 6, 20}));
    EXPECT_EQ((*tokenizer)->decode(Ids{8 + 'x'}, false), "x");
}

TEST(TokenizerTypes, DoesWithoutTypes) {
    TestVocabulary vocabulary;
    vocabulary.leave_out("tokenizer.ggml.token_type");
    const auto tokenizer = vocabulary.create();
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ((*tokenizer)->encode("<turn|>"), (Ids{2, 5}));
}

TEST(TokenizerTypes, PrefersTheLongerOfTwoSpecialTokensThatBeginAlike) {
    TestVocabulary vocabulary;
    const int32_t shorter = vocabulary.add("<x", 4);
    const int32_t control = vocabulary.add("<xy", 3);
    const int32_t longer = vocabulary.add("<xyz>", 4);
    const auto tokenizer = vocabulary.create();
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    const auto id = [&](std::string_view text) { return *(*tokenizer)->find(text); };
    EXPECT_EQ((*tokenizer)->encode("<xyz><xyz", {.add_bos = false}), (Ids{longer, control, id("z")}));
    EXPECT_EQ((*tokenizer)->encode("<xyz><xyz", {.add_bos = false, .parse_special = false}),
              (Ids{longer, shorter, id("y"), id("z")}));
    EXPECT_EQ((*tokenizer)->encode("<xyz<x", {.add_bos = false}), (Ids{control, id("z"), shorter}));
}

TEST(TokenizerTypes, TakesTheLowerOfTwoTokensWithTheSameText) {
    TestVocabulary vocabulary;
    vocabulary.add("ab");
    vocabulary.add("ab");
    vocabulary.add("<|turn>", 3);
    const auto tokenizer = vocabulary.create();
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ((*tokenizer)->encode("ab<|turn>", {.add_bos = false}), (Ids{(*tokenizer)->size() - 3, 4}));
}

TEST(TokenizerTypes, FindsTheBeginningByItsTextWhenTheFileDoesNotNameIt) {
    TestVocabulary vocabulary;
    vocabulary.leave_out("tokenizer.ggml.bos_token_id");
    vocabulary.leave_out("tokenizer.ggml.eos_token_id");
    const auto tokenizer = vocabulary.create();
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ((*tokenizer)->bos(), 2);
    EXPECT_TRUE((*tokenizer)->is_end_of_generation(1));
}

}  // namespace
}  // namespace lapidary::tokenizer
