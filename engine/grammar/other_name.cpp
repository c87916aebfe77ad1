#include "grammar/other_name.h"

#include <algorithm>

#include "chat/json.h"

namespace lapidary::grammar {
namespace {

class OtherName {
  public:
    OtherName(ProgramBuilder& builder, JsonRules& rules, NodeId next)
        : b_(builder),
          close_(builder.literal("\"", next)),
          free_(rules.free_text(close_)),
          beyond_(rules.beyond_ascii(true, free_)),
          escape_(builder.literal("\\", builder.byte(ByteSet::of("\"\\bfnrt"), free_))) {}

    // The names are JSON texts, sorted, and the same before `at`. A text differs from all of them if it leaves the
    // path of each before its end, or ends before.
    NodeId after(std::span<const std::string> names, size_t at) {
        std::vector<NodeId> ways;
        ByteSet taken;
        while (!names.empty()) {
            const auto byte = uint8_t(names[0][at]);
            size_t same = 1;
            while (same < names.size() && uint8_t(names[same][at]) == byte) ++same;
            taken.add(byte);
            // A name that goes on with an escape or beyond ASCII is avoided at this byte already.
            if (kPlainAscii.has(byte)) {
                ways.push_back(b_.byte(ByteSet::range(byte, byte), after(names.subspan(0, same), at + 1)));
            }
            names = names.subspan(same);
        }
        if (const ByteSet free = kPlainAscii.without(taken); !free.empty()) ways.push_back(b_.byte(free, free_));
        if (!taken.meets(ByteSet::range(0x80, 0xFF))) ways.push_back(beyond_);
        if (!taken.has('\\')) ways.push_back(escape_);
        if (!taken.has('"')) ways.push_back(close_);
        return b_.choice(ways);
    }

  private:
    ProgramBuilder& b_;
    NodeId close_;
    NodeId free_;    // the rest of a name that differs
    NodeId beyond_;  // a character beyond ASCII that makes it differ
    NodeId escape_;  // one that is never written plainly
};

}  // namespace

NodeId other_name(ProgramBuilder& builder, JsonRules& rules, const std::vector<std::string>& names, NodeId next) {
    if (names.empty()) return rules.any_key(next);
    std::vector<std::string> texts;
    for (const std::string& name : names) texts.push_back(chat::json_text(chat::Json(name)));
    std::ranges::sort(texts);
    return builder.literal("\"", OtherName(builder, rules, next).after(texts, 1));
}

}  // namespace lapidary::grammar
