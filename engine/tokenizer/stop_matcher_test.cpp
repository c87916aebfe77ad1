#include "tokenizer/stop_matcher.h"

#include <gtest/gtest.h>

namespace lapidary::tokenizer {
namespace {

TEST(StopMatcher, LetsTextThroughThatCannotBeginAStopString) {
    StopMatcher matcher({"END"});
    EXPECT_EQ(matcher.feed("hello "), "hello ");
    EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, HoldsBackTheBeginningOfAStopStringAndReleasesIt) {
    StopMatcher matcher({"END"});
    EXPECT_EQ(matcher.feed("the E"), "the ");
    EXPECT_EQ(matcher.feed("N"), "");
    EXPECT_EQ(matcher.feed("GLISH"), "ENGLISH");
    EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, StopsInTheMiddleOfAPortion) {
    StopMatcher matcher({"x", "END"});
    EXPECT_EQ(matcher.feed("the EN"), "the ");
    EXPECT_EQ(matcher.feed("D and more"), "");
    EXPECT_TRUE(matcher.stopped());
    EXPECT_EQ(matcher.matched(), 1u);
    EXPECT_EQ(matcher.feed("still more"), "");
}

TEST(StopMatcher, HoldsBackTheLongestEndThatMayBecomeAStopString) {
    StopMatcher matcher({"aab", "b!"});
    EXPECT_EQ(matcher.feed("aaa"), "a");
    EXPECT_EQ(matcher.feed("a"), "a");
    EXPECT_EQ(matcher.feed("b"), "");
    EXPECT_EQ(matcher.matched(), 0u);
}

TEST(StopMatcher, GivesTheSameWhateverThePortions) {
    const std::string text = "abababc abab abcd ababd tail";
    for (size_t portion = 1; portion <= text.size(); ++portion) {
        StopMatcher matcher({"ababd", "bcd", "abcd", ""});
        std::string out;
        for (size_t at = 0; at < text.size(); at += portion) out += matcher.feed(text.substr(at, portion));
        EXPECT_EQ(out, "abababc abab ") << portion;
        EXPECT_EQ(matcher.matched(), 2u) << portion;
    }
}

TEST(StopMatcher, ReleasesWhatItHeldWhenTheTextEnds) {
    StopMatcher matcher({"\n\nUser:"});
    EXPECT_EQ(matcher.feed("Bye.\n\nUs"), "Bye.");
    EXPECT_EQ(matcher.finish(), "\n\nUs");
    EXPECT_EQ(matcher.feed("er:"), "er:");
}

TEST(StopMatcher, NeverStopsWithoutStopStrings) {
    StopMatcher matcher({""});
    EXPECT_EQ(matcher.feed("anything"), "anything");
    EXPECT_FALSE(matcher.stopped());
}

}  // namespace
}  // namespace lapidary::tokenizer
