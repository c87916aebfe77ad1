#include "grammar/text_rules.h"

#include <algorithm>
#include <array>
#include <string>

namespace lapidary::grammar {
namespace {

constexpr CharSet::Range kBeyond{0x80, kLastCharacter};
constexpr std::string_view kNeedEscapes = "\"\\\n\t\r\f\b";
constexpr std::string_view kEscapes = "\"\\ntrfb";

// The bytes of a set that stand for themselves.
ByteSet plain_bytes(const CharSet& set, const ByteSet& allowed) {
    ByteSet out;
    for (const CharSet::Range& range : set.ranges()) {
        for (uint32_t c = range.first; c <= range.last && c < 0x80; ++c) {
            if (allowed.has(uint8_t(c))) out.add(uint8_t(c));
        }
    }
    return out;
}

// Whether any token of plain text could be a character of this set (grammar/token_texts.h).
bool has_plain(const CharSet& set) {
    static const CharSet plain = [] {
        CharSet out = {{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7F}, kBeyond};
        return out.without({{0x2028, 0x2029}});
    }();
    return !(set.without(set.without(plain))).empty();
}

// How many plain characters, whatever they are, can be read from each state.
std::vector<uint32_t> rooms(const Language& language) {
    std::vector<uint32_t> plain_kinds;
    for (uint32_t kind = 0; kind < language.kinds(); ++kind) {
        if (has_plain(language.characters(kind))) plain_kinds.push_back(kind);
    }
    // Level by level backwards from the states that refuse something.
    const size_t states = language.states();
    std::vector<std::vector<uint32_t>> before(states);
    std::vector<uint32_t> room(states, kUnlimited);
    std::vector<uint32_t> work;
    for (uint32_t state = 1; state < states; ++state) {
        bool refuses = false;
        uint32_t last = Language::kLost;
        for (const uint32_t kind : plain_kinds) {
            const uint32_t target = language.next(state, kind);
            refuses = refuses || target == Language::kLost;
            if (target != Language::kLost && target != last) before[target].push_back(state);
            last = target;
        }
        if (!refuses) continue;
        room[state] = 0;
        work.push_back(state);
    }
    for (size_t i = 0; i < work.size(); ++i) {
        for (const uint32_t state : before[work[i]]) {
            if (room[state] != kUnlimited) continue;
            room[state] = room[work[i]] + 1;
            work.push_back(state);
        }
    }
    return room;
}

}  // namespace

NodeId TextRules::string(const Language& language, NodeId next) {
    const NodeId close = rules_.quote(next);
    return rules_.quote(text(language, close, false));
}

NodeId TextRules::key(const Language& language, NodeId next) {
    return rules_.dialect() == Dialect::json ? string(language, next) : text(language, next, true);
}

NodeId TextRules::text(const Language& language, NodeId end, bool bare) {
    if (language.empty()) return b_.nothing();
    const bool json = rules_.dialect() == Dialect::json;
    const ByteSet direct = bare ? kBareName : json ? kPlainAscii : kCallAscii;
    std::vector<CharSet> kinds;
    for (uint32_t kind = 0; kind < language.kinds(); ++kind) kinds.push_back(language.characters(kind));
    const std::vector<uint32_t> room = bare ? std::vector<uint32_t>(language.states(), 0) : rooms(language);

    // Sets of kinds come again and again: what they are is found once.
    struct Read {
        ByteSet plain;
        NodeId other = 0;  // finish(): nothing else
    };
    std::map<std::vector<uint32_t>, Read> reads;
    const auto read_of = [&](const std::vector<uint32_t>& of) -> const Read& {
        const auto [it, added] = reads.try_emplace(of);
        if (!added) return it->second;
        CharSet set;
        for (const uint32_t kind : of) set.add(kinds[kind]);
        it->second = {plain_bytes(set, direct), bare ? ProgramBuilder::finish() : character(set)};
        return it->second;
    };

    struct Arrow {
        const Read* read;
        uint32_t target;
    };
    std::vector<NodeId> nodes(language.states(), ProgramBuilder::finish());
    std::vector<std::vector<Arrow>> arrows(language.states());
    for (uint32_t state = 1; state < language.states() && !b_.full(); ++state) {
        if (language.everything(state) && !bare) {
            nodes[state] = rules_.free_text(end);
            continue;
        }
        std::map<uint32_t, std::vector<uint32_t>> targets;
        for (uint32_t kind = 0; kind < language.kinds(); ++kind) {
            const uint32_t target = language.next(state, kind);
            if (target != Language::kLost) targets[target].push_back(kind);
        }
        size_t ways = language.accepts(state) ? 1 : 0;
        for (const auto& [target, of] : targets) {
            const Read& read = read_of(of);
            ways += (read.plain.empty() ? 0u : 1u) + (read.other != ProgramBuilder::finish() ? 1u : 0u);
            arrows[state].push_back({&read, target});
        }
        nodes[state] = b_.open_choice(ways, room[state]);
    }
    for (uint32_t state = 1; state < language.states() && !b_.full(); ++state) {
        if (language.everything(state) && !bare) continue;
        size_t way = 0;
        const auto go = [&](NodeId node) { b_.set_target(nodes[state], way++, node); };
        if (language.accepts(state)) go(end);
        for (const Arrow& arrow : arrows[state]) {
            const NodeId then = nodes[arrow.target];
            if (!arrow.read->plain.empty()) go(b_.byte(arrow.read->plain, then));
            if (arrow.read->other != ProgramBuilder::finish()) go(b_.call(arrow.read->other, then));
        }
    }
    return nodes[language.start()];
}

// What does not stand for itself: escapes, and characters beyond ASCII. finish() when there is none of these.
NodeId TextRules::character(const CharSet& set) {
    const auto known = characters_.find(set);
    if (known != characters_.end()) return known->second;
    std::vector<NodeId> ways;
    if (rules_.dialect() == Dialect::json) {
        if (const NodeId node = escaped(set); node != ProgramBuilder::finish()) ways.push_back(node);
    }
    if (const NodeId node = beyond_ascii(set); node != ProgramBuilder::finish()) ways.push_back(node);
    const NodeId node = ways.empty() ? ProgramBuilder::finish() : b_.choice(ways);
    characters_.emplace(set, node);
    return node;
}

NodeId TextRules::escaped(const CharSet& set) {
    const NodeId done = ProgramBuilder::finish();
    ByteSet letters;
    for (size_t i = 0; i < kNeedEscapes.size(); ++i) {
        if (set.has(uint8_t(kNeedEscapes[i]))) letters.add(uint8_t(kEscapes[i]));
    }
    if (set.has('/')) letters.add('/');
    std::vector<NodeId> ways;
    if (!letters.empty()) ways.push_back(b_.byte(letters, done));
    // Control characters without a letter of their own.
    std::vector<std::string> codes;
    for (uint32_t c = 0; c < 0x20; ++c) {
        if (set.has(c) && kNeedEscapes.find(char(c)) == std::string_view::npos) {
            codes.push_back(format("u00{}{}", c >> 4, "0123456789abcdef"[c & 15]));
        }
    }
    if (!codes.empty()) ways.push_back(b_.any_of(std::move(codes), done));
    // Where all that is beyond ASCII may stand, it may be written as a code too.
    if (set.holds({kBeyond})) ways.push_back(b_.literal("u", rules_.code_beyond_ascii()));
    return ways.empty() ? done : b_.literal("\\", b_.choice(ways));
}

// The ranges of a set as bytes of UTF-8.
NodeId TextRules::beyond_ascii(const CharSet& set) {
    const NodeId done = ProgramBuilder::finish();
    if (set.holds({kBeyond})) return rules_.beyond_ascii(/*separators=*/true, done);
    if (set.holds(CharSet{kBeyond}.without({{0x2028, 0x2029}}))) return rules_.beyond_ascii(false, done);
    std::vector<NodeId> ways;
    // Splits a range until both ends have the same length and differ in whole bytes only.
    const auto write = [&](auto&& self, uint32_t first, uint32_t last) -> void {
        for (const uint32_t border : {0x7FFu, 0xFFFFu}) {
            if (first <= border && last > border) {
                self(self, first, border);
                self(self, border + 1, last);
                return;
            }
        }
        const int tails = last <= 0x7FF ? 1 : last <= 0xFFFF ? 2 : 3;
        for (int i = 1; i <= tails; ++i) {
            const uint32_t low_bits = (1u << (6 * i)) - 1;
            if ((first & ~low_bits) == (last & ~low_bits)) break;
            if ((first & low_bits) != 0) {
                self(self, first, first | low_bits);
                self(self, (first | low_bits) + 1, last);
                return;
            }
            if ((last & low_bits) != low_bits) {
                self(self, first, (last & ~low_bits) - 1);
                self(self, last & ~low_bits, last);
                return;
            }
        }
        const auto byte_of = [&](uint32_t c, int tail) {
            const uint32_t lead = tails == 1 ? 0xC0 : tails == 2 ? 0xE0 : 0xF0;
            return uint8_t(tail == tails ? lead | c >> (6 * tail) : 0x80 | (c >> (6 * tail) & 0x3F));
        };
        NodeId node = done;
        for (int tail = 0; tail <= tails; ++tail) {
            node = b_.byte(ByteSet::range(byte_of(first, tail), byte_of(last, tail)), node);
        }
        ways.push_back(node);
    };
    const CharSet written = CharSet{{0x80, 0xD7FF}, {0xE000, kLastCharacter}};
    const CharSet beyond = set.without(set.without(written));
    for (const CharSet::Range& range : beyond.ranges()) write(write, range.first, range.last);
    return ways.empty() ? done : b_.choice(ways);
}

}  // namespace lapidary::grammar
