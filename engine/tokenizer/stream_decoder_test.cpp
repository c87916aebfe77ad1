#include "tokenizer/stream_decoder.h"

#include <gtest/gtest.h>

#include "tokenizer/test_vocabulary.h"

namespace lapidary::tokenizer {
namespace {

std::string repair(std::string_view bytes) {
    Utf8Stream stream;
    std::string out = stream.feed(bytes);
    return out + stream.finish();
}

TEST(Utf8Stream, KeepsValidTextAsItIs) {
    EXPECT_EQ(repair("aé水𝄞\U0010FFFF\uFFFD"), "aé水𝄞\U0010FFFF\uFFFD");
    EXPECT_EQ(repair(std::string_view("\0x", 2)), std::string_view("\0x", 2));
}

TEST(Utf8Stream, ReplacesEachLongestPieceThatCannotBecomeACharacter) {
    EXPECT_EQ(repair("a\x80"
                     "b"),
              "a\uFFFDb");
    EXPECT_EQ(repair("\xC0\xAF"), "\uFFFD\uFFFD");                      // overlong: neither byte can stay
    EXPECT_EQ(repair("\xE0\x80\x80"), "\uFFFD\uFFFD\uFFFD");            // overlong
    EXPECT_EQ(repair("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");            // half of a surrogate pair
    EXPECT_EQ(repair("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond the last character
    EXPECT_EQ(repair("\xF0\x9F\x92z"), "\uFFFDz");                      // three bytes that were a good beginning
    EXPECT_EQ(repair("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"), "\uFFFD\uFFFD\uFFFD\uFFFD");
    EXPECT_EQ(repair("\xF0\x9F\x92"), "\uFFFD");  // the text ends there
}

TEST(Utf8Stream, GivesTheSameByteByByte) {
    for (const std::string_view bytes :
         {"x\xF0\x9F\xA6\x99y", "\xF0\x9F\x92z", "\xE0\x80\x80", "\xF4\x90\x80", "\xFF"}) {
        Utf8Stream stream;
        std::string out;
        for (const char c : bytes) out += stream.feed({&c, 1});
        EXPECT_EQ(out + stream.finish(), repair(bytes));
    }
}

TEST(StreamDecoder, KeepsAnEmojiWholeWhileStreaming) {
    ASSERT_NE(storyteller(), nullptr);
    const auto& tokenizer = storyteller()->tokenizer;
    const auto ids = tokenizer->encode("🦙", {.add_bos = false});
    ASSERT_EQ(ids.size(), 4u);  // it has no token, so it is written in bytes
    StreamDecoder decoder(tokenizer);
    EXPECT_EQ(decoder.feed(ids[0]), "");
    EXPECT_EQ(decoder.feed(ids[1]), "");
    EXPECT_EQ(decoder.feed(ids[2]), "");
    EXPECT_EQ(decoder.feed(ids[3]), "🦙");
    EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, ReplacesACharacterThatTheAnswerLeavesUnfinished) {
    ASSERT_NE(storyteller(), nullptr);
    const auto& tokenizer = storyteller()->tokenizer;
    const auto ids = tokenizer->encode("🦙", {.add_bos = false});
    StreamDecoder decoder(tokenizer);
    decoder.feed(ids[0]);
    decoder.feed(ids[1]);
    EXPECT_EQ(decoder.feed(*tokenizer->find("a")), "\uFFFDa");
    decoder.feed(ids[0]);
    EXPECT_EQ(decoder.finish(), "\uFFFD");
    EXPECT_EQ(decoder.feed(*tokenizer->find("a")), "a");
}

TEST(StreamDecoder, ShowsControlTokensOnlyWhenAsked) {
    ASSERT_NE(storyteller(), nullptr);
    const auto& tokenizer = storyteller()->tokenizer;
    const int32_t end = *tokenizer->find("<turn|>");
    const int32_t channel = *tokenizer->find("<|channel>");
    EXPECT_EQ(StreamDecoder(tokenizer).feed(end), "");
    EXPECT_EQ(StreamDecoder(tokenizer, true).feed(end), "<turn|>");
    EXPECT_EQ(StreamDecoder(tokenizer).feed(channel), "<|channel>");
    EXPECT_EQ(StreamDecoder(tokenizer).feed(-1), "");
    EXPECT_EQ(StreamDecoder(tokenizer).feed(tokenizer->size()), "");
}

}  // namespace
}  // namespace lapidary::tokenizer
