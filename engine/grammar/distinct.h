// Distinct: reads a text as it is written and watches the arrays whose items must all differ (uniqueItems).
//
// A machine with a stack cannot remember items, so this is done beside it: an item that repeats an earlier one is refused where
// it ends, whatever it looks like ("a" is "\u0061", 1 is 1.0), and nothing is begun that could only repeat.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/recogniser.h"

namespace lapidary::grammar {

class Distinct {
  public:
    // One more byte. `marked`: a bracket here opens an array of distinct items. False: an item repeats another.
    bool read(uint8_t byte, bool marked);
    // Whether there are items that the next one must not repeat.
    [[nodiscard]] bool watching() const;
    // Whether what is being written can become an item that is not there yet. `state` is where the text is.
    [[nodiscard]] bool can_differ(Recogniser& recogniser, Recogniser::State state) const;

  private:
    struct Item {
        std::string written;
        std::string meant;  // the same for equal values
    };
    struct Level {
        bool array = false;
        bool distinct = false;
        bool in_item = false;
        size_t item_start = 0;
        std::shared_ptr<const std::vector<Item>> items;
    };

    void begin_value(uint8_t byte);
    bool end_item();
    bool differs(Recogniser& recogniser, Recogniser::State state, std::string& partial, size_t& steps) const;

    std::string text_;
    std::vector<Level> levels_;
    uint8_t quote_ = 0;  // of the string being read
    bool escaped_ = false;
    bool scalar_ = false;  // a number or a word is being read
    size_t distinct_levels_ = 0;
};

}  // namespace lapidary::grammar
