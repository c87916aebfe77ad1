#include "grammar/pattern.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "grammar/pattern_tree.h"

namespace lapidary::grammar {
namespace {

// Copies of something repeated; texts that would need more are left out.
constexpr uint32_t kMaxCopies = 10'000;
constexpr size_t kMaxPlaces = 1 << 17;

using Kind = PatternItem::Kind;

bool may_be_empty(const PatternSequence& items);
bool may_be_empty(const PatternItem& item) {
    switch (item.kind) {
        case Kind::one: return false;
        case Kind::alternatives:
            return std::ranges::any_of(item.inside, [](const auto& inside) { return may_be_empty(inside); });
        case Kind::repeat: return item.min == 0 || may_be_empty(item.inside[0]);
        default: return true;
    }
}
bool may_be_empty(const PatternSequence& items) {
    return std::ranges::all_of(items, [](const PatternItem& item) { return may_be_empty(item); });
}

bool mentions(const PatternSequence& items, Kind kind);
bool mentions(const PatternItem& item, Kind kind) {
    return item.kind == kind ||
           std::ranges::any_of(item.inside, [&](const PatternSequence& inside) { return mentions(inside, kind); });
}
bool mentions(const PatternSequence& items, Kind kind) {
    return std::ranges::any_of(items, [&](const PatternItem& item) { return mentions(item, kind); });
}

uint32_t times(uint32_t a, uint32_t b) {
    if (a == 0 || b == 0) return 0;
    if (a == kEndless || b == kEndless) return kEndless;
    return uint32_t(std::min<uint64_t>(uint64_t(a) * b, kEndless - 1));
}

// A group of one item is that item; a repetition of a repetition is one, where the counts leave no gaps.
void simplify(PatternItem& item) {
    for (PatternSequence& inside : item.inside) {
        for (PatternItem& part : inside) simplify(part);
    }
    const bool wraps_one = item.inside.size() == 1 && item.inside[0].size() == 1;
    if (item.kind == Kind::alternatives && wraps_one) {
        PatternItem inner = std::move(item.inside[0][0]);
        item = std::move(inner);
        return;
    }
    if (item.kind != Kind::repeat || !wraps_one) return;
    PatternItem& inner = item.inside[0][0];
    if (inner.kind == Kind::repeat) {
        const uint64_t least = std::max<uint64_t>(item.min, 1);
        const bool no_gap = item.min == item.max || inner.max == kEndless ||
                            uint64_t(inner.max) * least + 1 >= uint64_t(inner.min) * (least + 1);
        const bool from_nothing = item.min > 0 || inner.min <= 1;
        if (no_gap && from_nothing) {
            const uint32_t min = times(item.min, inner.min);
            const uint32_t max = times(item.max, inner.max);
            PatternSequence body = std::move(inner.inside[0]);
            item.inside[0] = std::move(body);
            item.min = min;
            item.max = max;
        }
    }
    // What may be empty need not be there; (a*)* is (a)*.
    if (may_be_empty(item.inside[0])) item.min = 0;
}

// Places of the expression, as a machine that may be at several at once.
class Places {
  public:
    using Place = uint32_t;
    static constexpr Place kEnd = 0;      // the text ends here
    static constexpr Place kNowhere = 1;  // nothing matches

    Places(bool exact, Budget& budget) : exact_(exact), budget_(budget) { places_.resize(2); }

    // Where ^ and $ hold: at the first item only, and at the last.
    struct Around {
        bool at_start = false;
        bool at_end = false;
    };

    // A branch lies in a text with or without something before and after it. Anchors may tell these apart.
    Result<Place> branch(const PatternSequence& items) {
        const bool anchored = !items.empty() && items.front().kind == Kind::start;
        const bool closed = !items.empty() && items.back().kind == Kind::end;
        const Place tail = closed ? kNowhere : one_or_more(anything(), kEnd);
        const auto before_end = [&](bool at_start) -> Result<Place> {
            if (closed) return sequence(items, kEnd, {at_start, true}, true);
            if (!mentions(items, Kind::end)) return sequence(items, either({kEnd, tail}), {at_start, true}, true);
            return either({TRY(sequence(items, kEnd, {at_start, true}, true)),
                           TRY(sequence(items, tail, {at_start, false}, true))});
        };
        const Place whole = TRY(before_end(true));
        if (anchored) return whole;
        const bool same = !mentions(items, Kind::start);
        return either({whole, one_or_more(anything(), same ? whole : TRY(before_end(false)))});
    }

    Place either(std::vector<Place> ways) {
        if (ways.size() == 1) return ways[0];
        return add({.ways = std::move(ways), .set = kNoSet, .next = kNowhere});
    }

    Result<Language> language(Place start) {
        if (places_.size() >= kMaxPlaces) {
            return fail(Code::limit, "the pattern is too large: it would take more than {} places to follow it",
                        kMaxPlaces);
        }
        return determined(start);
    }
    [[nodiscard]] bool exact() const { return exact_; }

  private:
    static constexpr uint32_t kNoSet = ~0u;
    struct Node {
        std::vector<Place> ways;  // without reading
        uint32_t set = kNoSet;
        Place next = kNowhere;
    };

    Place add(Node node) {
        if (places_.size() >= kMaxPlaces) return kNowhere;
        places_.push_back(std::move(node));
        return Place(places_.size() - 1);
    }
    uint32_t set_of(const CharSet& set) {
        const auto [it, added] = set_ids_.try_emplace(set, uint32_t(sets_.size()));
        if (added) sets_.push_back(set);
        return it->second;
    }
    Place read(const CharSet& set, Place next) {
        if (set.empty()) return kNowhere;
        return add({.ways = {}, .set = set_of(set), .next = next});
    }
    static const CharSet& anything() {
        static const CharSet all = CharSet::all();
        return all;
    }
    Place one_or_more(const CharSet& set, Place next) {
        const Place more = add({.ways = {next}, .set = kNoSet, .next = kNowhere});
        const Place first = read(set, more);
        if (more != kNowhere) places_[more].ways.push_back(first);
        return first;
    }

    // `known`: what follows is complete, as it must be for looking ahead; in an endless repetition it is not.
    Result<Place> sequence(const PatternSequence& items, Place next, Around around, bool known) {
        for (size_t i = items.size(); i > 0; --i) {
            if (!budget_.take()) return too_much_work();
            const PatternItem& part = items[i - 1];
            const auto reads_nothing = [](const PatternItem& item) {
                return item.kind == Kind::ahead || item.kind == Kind::start || item.kind == Kind::end;
            };
            const bool first = std::all_of(items.begin(), items.begin() + ptrdiff_t(i - 1), reads_nothing);
            const bool last = std::all_of(items.begin() + ptrdiff_t(i), items.end(), reads_nothing);
            // An anchor beside what may be empty is taken for one that never holds.
            const bool odd = (!first && mentions(part, Kind::start)) ||
                             (!last && part.kind != Kind::ahead && mentions(part, Kind::end));
            if (odd) exact_ = false;
            if (part.kind == Kind::ahead) {
                if (!known || odd) {
                    return fail(
                        Code::invalid_argument,
                        "the pattern looks ahead inside an endless repetition, or for ^, which is not supported");
                }
                next = TRY(limited(part, next, around));
                continue;
            }
            next = TRY(this->item(part, next, {around.at_start && first, around.at_end && last}, known));
        }
        return next;
    }

    // What can be read from `next` on, and is (or is not) what is looked for.
    Result<Place> limited(const PatternItem& item, Place next, Around around) {
        Places seen(true, budget_);
        std::vector<Place> ways;
        const Place tail = seen.one_or_more(anything(), kEnd);
        for (const PatternSequence& inside : item.inside) {
            ways.push_back(TRY(seen.sequence(inside, kEnd, {around.at_start, true}, true)));
            ways.push_back(TRY(seen.sequence(inside, tail, {around.at_start, false}, true)));
        }
        const Language looked_for = TRY(seen.language(seen.either(ways)));
        const Language rest = TRY(language(next));
        const Language out = item.negated ? TRY(rest.without(looked_for, budget_))
                                          : TRY(rest.both_or_shorter(looked_for, budget_, exact_));
        if (item.negated && !seen.exact()) {
            return fail(Code::invalid_argument, "the pattern looks ahead for something too large to be excluded");
        }
        return embedded(out);
    }

    // A language as places of this machine.
    Place embedded(const Language& language) {
        std::vector<Place> of_state(language.states(), kNowhere);
        for (size_t state = 1; state < of_state.size(); ++state) of_state[state] = add({});
        std::vector<CharSet> kinds;
        for (uint32_t kind = 0; kind < language.kinds(); ++kind) kinds.push_back(language.characters(kind));
        for (uint32_t state = 1; state < of_state.size(); ++state) {
            std::map<Language::State, CharSet> targets;
            for (uint32_t kind = 0; kind < kinds.size(); ++kind) {
                const auto target = language.next(state, kind);
                if (target != Language::kLost) targets[target].add(kinds[kind]);
            }
            std::vector<Place> ways;
            for (const auto& [target, set] : targets) ways.push_back(read(set, of_state[target]));
            if (language.accepts(state)) ways.push_back(kEnd);
            if (of_state[state] != kNowhere) places_[of_state[state]].ways = std::move(ways);
        }
        return of_state.empty() ? kNowhere : of_state[language.start()];
    }

    Result<Place> item(const PatternItem& item, Place next, Around around, bool known) {
        switch (item.kind) {
            case Kind::one: return read(item.set, next);
            case Kind::start: return around.at_start ? next : kNowhere;
            case Kind::end: return around.at_end ? next : kNowhere;
            case Kind::alternatives: {
                std::vector<Place> ways;
                for (const PatternSequence& inside : item.inside) {
                    ways.push_back(TRY(sequence(inside, next, around, known)));
                }
                return either(std::move(ways));
            }
            case Kind::repeat: return repeat(item, next, around, known);
            case Kind::ahead: break;
        }
        return kNowhere;
    }

    Result<Place> repeat(const PatternItem& item, Place next, Around around, bool known) {
        const PatternSequence& body = item.inside[0];
        // Anchors hold in the only copy there is.
        const Around inside = item.max == 1 ? around : Around{};
        uint32_t max = item.max;
        if (item.min > kMaxCopies) {
            return fail(Code::limit, "the pattern repeats something {} times; at most {} are accepted", item.min,
                        kMaxCopies);
        }
        Place rest = next;
        if (max == kEndless) {
            const Place again = add({.ways = {next}, .set = kNoSet, .next = kNowhere});
            const Place once = TRY(sequence(body, again, inside, false));
            if (again != kNowhere) places_[again].ways.push_back(once);
            rest = again;
        } else {
            if (max > kMaxCopies) {
                max = kMaxCopies;
                exact_ = false;
            }
            for (uint32_t i = item.min; i < max && places_.size() < kMaxPlaces; ++i) {
                rest = either({TRY(sequence(body, rest, inside, known)), next});
            }
        }
        for (uint32_t i = 0; i < item.min && places_.size() < kMaxPlaces; ++i) {
            rest = TRY(sequence(body, rest, inside, known));
        }
        return rest;
    }

    // All places that can be reached without reading, sorted; only those that read, or end.
    bool settle(std::vector<Place>& places) {
        std::vector<Place> work = std::move(places);
        places.clear();
        ++round_;
        seen_.resize(places_.size(), 0);
        while (!work.empty()) {
            if (!budget_.take()) return false;
            const Place place = work.back();
            work.pop_back();
            if (std::exchange(seen_[place], round_) == round_) continue;
            if (place == kEnd || places_[place].set != kNoSet) places.push_back(place);
            for (const Place way : places_[place].ways) {
                if (seen_[way] != round_) work.push_back(way);
            }
        }
        std::ranges::sort(places);
        return true;
    }

    struct PlacesHash {
        size_t operator()(const std::vector<Place>& places) const {
            uint64_t hash = places.size();
            for (const Place place : places) {
                hash = (hash ^ place) * 0x9E3779B97F4A7C15u;
                hash ^= hash >> 29;
            }
            return size_t(hash);
        }
    };

    // Sets of places become states.
    Result<Language> determined(Place start) {
        const Kinds kinds = Kinds::of(sets_);
        std::unordered_map<std::vector<Place>, Language::State, PlacesHash> known;
        std::vector<std::vector<Place>> states;
        std::vector<uint8_t> accepts = {0};
        std::vector<Language::State> next(kinds.count, Language::kLost);
        bool full = false;
        const auto name = [&](std::vector<Place> places) -> Language::State {
            if (!settle(places) || places.empty()) return Language::kLost;
            // From here everything matches: what else might does not matter.
            if (std::ranges::find(places, kEnd) != places.end() && endless_ != kNowhere &&
                std::ranges::binary_search(places, endless_)) {
                places = {kEnd, endless_};
            }
            const auto [it, added] = known.try_emplace(places, Language::State(accepts.size()));
            if (!added) return it->second;
            full = full || accepts.size() >= kMaxLanguageStates;
            accepts.push_back(places[0] == kEnd ? 1 : 0);
            states.push_back(std::move(places));
            return it->second;
        };
        find_endless();
        const Language::State first = name({start});
        std::vector<std::vector<Place>> reached(kinds.count);
        for (size_t i = 0; i < states.size(); ++i) {
            if (full) {
                return fail(Code::limit, "the pattern is too complicated: it would take more than {} states",
                            kMaxLanguageStates);
            }
            for (const Place place : states[i]) {
                if (places_[place].set == kNoSet) continue;
                const auto& read = kinds.of_set[places_[place].set];
                if (!budget_.take(read.size() + 1)) return too_much_work();
                for (const uint32_t kind : read) reached[kind].push_back(places_[place].next);
            }
            for (uint32_t kind = 0; kind < kinds.count; ++kind) {
                next.push_back(name(std::exchange(reached[kind], {})));
            }
            if (budget_.spent()) return too_much_work();
        }
        if (budget_.spent()) return too_much_work();
        return Language::made(kinds.stretches, kinds.count, std::move(next), std::move(accepts), first);
    }

    // The place of ".*" at the end of a pattern.
    void find_endless() {
        endless_ = kNowhere;
        for (Place place = 2; place < places_.size(); ++place) {
            const Node& node = places_[place];
            if (node.set == kNoSet || sets_[node.set] != CharSet::all()) continue;
            const auto& ways = places_[node.next].ways;
            const bool ends = std::ranges::find(ways, kEnd) != ways.end();
            if (ends && std::ranges::find(ways, place) != ways.end()) endless_ = place;
        }
    }

    std::vector<Node> places_;
    std::vector<CharSet> sets_;
    std::map<CharSet, uint32_t> set_ids_;
    std::vector<uint32_t> seen_;
    uint32_t round_ = 0;
    Place endless_ = kNowhere;
    bool exact_;
    Budget& budget_;
};

}  // namespace

Result<Pattern> read_pattern(std::string_view pattern, Budget& budget) {
    PatternTree tree = TRY(read_pattern_tree(pattern));
    Places places(tree.exact, budget);
    std::vector<Places::Place> ways;
    for (PatternSequence& items : tree.branches) {
        for (PatternItem& item : items) simplify(item);
        ways.push_back(TRY(places.branch(items)));
    }
    Language language = TRY(places.language(places.either(std::move(ways))));
    return Pattern{std::move(language), places.exact()};
}

}  // namespace lapidary::grammar
