// StopMatcher: ends a stream of text at the first of several stop strings, and never shows the beginning of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapidary::tokenizer {

// What comes out does not depend on how the text is cut into portions: the stop string that is completed first
// counts, and among those completed by the same byte the longest.
class StopMatcher {
  public:
    // Stop strings are UTF-8. Empty ones are ignored.
    explicit StopMatcher(std::vector<std::string> stops);

    // Text that can be shown: all so far except the longest end that may turn out to begin a stop string.
    // Nothing any more once stopped.
    std::string feed(std::string_view text);
    // The text held back, when no more will come. The matcher can then be used for another answer.
    std::string finish();

    [[nodiscard]] bool stopped() const { return matched_.has_value(); }
    // The stop string that was found, by its place in the list given; empty before.
    [[nodiscard]] std::optional<size_t> matched() const { return matched_; }

  private:
    // One stop string and how much of it the text read so far ends with (Knuth, Morris and Pratt).
    struct Stop {
        std::string text;
        size_t index;
        std::vector<uint32_t> fallback;  // [n]: the longest proper end of the first n bytes that also begins them
        uint32_t seen = 0;
    };
    static void advance(Stop& stop, char c);

    std::vector<Stop> stops_;
    std::string held_;
    std::optional<size_t> matched_;
};

}  // namespace lapidary::tokenizer
