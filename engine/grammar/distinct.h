// Distinct: reads a text as it is written and watches the arrays whose items must all differ (uniqueItems).
//
// A machine with a stack cannot remember items, so this is done beside it: an item that repeats an earlier one is refused where
// it ends, whatever it looks like ("a" is "\u0061", 1 is 1.0), and nothing is begun that could only repeat.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
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
    // Whether what is being written can become an item that is not there yet. `state` is where the text is. Adds the steps that
    // took.
    [[nodiscard]] bool can_differ(Recogniser& recogniser, Recogniser::State state, uint64_t& steps) const;
    // A string is being written that no item can end up as before it is closed.
    [[nodiscard]] bool within_new_string() const;
    // An item that is a string is being written.
    [[nodiscard]] bool within_item_string() const;
    // Whether some item there is begins like the one being written, with a text behind it.
    [[nodiscard]] bool goes_on_with(std::string_view text) const;
    // Puts the latest items where the earlier ones are. Copies made before are fast and share those.
    void settle();
    // What a copy takes, in steps.
    [[nodiscard]] uint64_t weight() const { return 1 + levels_.size() + text_.size() / 64; }

  private:
    using Texts = std::set<std::string, std::less<>>;
    struct Items {
        Texts written;
        Texts meant;  // the same for equal values
        void add(std::string item, std::string meaning) {
            written.insert(std::move(item));
            meant.insert(std::move(meaning));
        }
        // Some item begins like this, or is it.
        [[nodiscard]] bool begins(std::string_view text) const {
            const auto next = written.lower_bound(text);
            return next != written.end() && next->starts_with(text);
        }
    };
    struct Level {
        bool array = false;
        bool distinct = false;
        bool in_item = false;
        size_t item_start = 0;
        std::shared_ptr<Items> items;  // shared by copies, so never changed but by `settle`
        Items latest;

        [[nodiscard]] bool empty() const { return items == nullptr && latest.written.empty(); }
        [[nodiscard]] bool begins(std::string_view text) const {
            return latest.begins(text) || (items != nullptr && items->begins(text));
        }
        [[nodiscard]] bool has(std::string_view text) const {
            return latest.written.contains(text) || (items != nullptr && items->written.contains(text));
        }
        [[nodiscard]] bool means(std::string_view text) const {
            return latest.meant.contains(text) || (items != nullptr && items->meant.contains(text));
        }
    };

    void begin_value(uint8_t byte);
    bool end_item();
    bool differs(Recogniser& recogniser, Recogniser::State state, std::string& partial, uint64_t& steps,
                 uint64_t until) const;

    std::string text_;
    std::vector<Level> levels_;
    uint8_t quote_ = 0;  // of the string being read
    bool escaped_ = false;
    bool scalar_ = false;  // a number or a word is being read
    size_t distinct_levels_ = 0;
};

}  // namespace lapidary::grammar
