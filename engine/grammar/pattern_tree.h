// A regular expression as a tree, read but not yet understood.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "grammar/char_set.h"

namespace lapidary::grammar {

struct PatternItem;
using PatternSequence = std::vector<PatternItem>;

struct PatternItem {
    enum class Kind : uint8_t {
        one,           // a character of the set
        alternatives,  // one of `inside`
        repeat,        // inside[0], from min to max times
        start,         // ^
        end,           // $
        ahead,         // what follows matches (or does not) one of `inside`
    };
    Kind kind = Kind::one;
    bool negated = false;  // ahead
    CharSet set;
    std::vector<PatternSequence> inside;
    uint32_t min = 1;
    uint32_t max = 1;
};

struct PatternTree {
    std::vector<PatternSequence> branches;
    bool exact = true;  // false: some set lacks characters it should have
};

Result<PatternTree> read_pattern_tree(std::string_view pattern);

// The characters '.' does not stand for.
inline const CharSet& line_ends() {
    static const CharSet set = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
    return set;
}

}  // namespace lapidary::grammar
