#include "grammar/language.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace lapidary::grammar {
namespace {

std::unexpected<Error> too_many_states() {
    return fail(Code::limit, "the schema limits a text in too complicated a way: it would take more than {} states",
                kMaxLanguageStates);
}

}  // namespace

Kinds Kinds::of(std::span<const CharSet> sets) {
    std::vector<uint32_t> borders = {0};
    for (const CharSet& set : sets) {
        for (const CharSet::Range& range : set.ranges()) {
            borders.push_back(range.first);
            if (range.last < kLastCharacter) borders.push_back(range.last + 1);
        }
    }
    std::ranges::sort(borders);
    borders.erase(std::ranges::unique(borders).begin(), borders.end());
    // Which sets each stretch lies in; sets and stretches are both sorted, so each set is walked once.
    std::vector<std::vector<uint32_t>> inside(borders.size());
    for (size_t i = 0; i < sets.size(); ++i) {
        for (const CharSet::Range& range : sets[i].ranges()) {
            auto at = size_t(std::ranges::lower_bound(borders, range.first) - borders.begin());
            for (; at < borders.size() && borders[at] <= range.last; ++at) inside[at].push_back(uint32_t(i));
        }
    }
    Kinds out;
    out.of_set.resize(sets.size());
    std::map<std::vector<uint32_t>, uint32_t> known;
    for (size_t at = 0; at < borders.size(); ++at) {
        const auto [it, added] = known.try_emplace(inside[at], out.count);
        if (added) {
            for (const uint32_t set : inside[at]) out.of_set[set].push_back(out.count);
            ++out.count;
        }
        out.stretches.push_back({borders[at], it->second});
    }
    return out;
}

Language Language::made(std::vector<Stretch> stretches, uint32_t kinds, std::vector<State> next,
                        std::vector<uint8_t> accepts, State start) {
    const size_t count = accepts.size();
    // Backwards from where texts end, and from where they cannot: who is reached by neither leads nowhere, or can
    // do no wrong.
    std::vector<uint32_t> begin(count + 1, 0);
    for (const State target : next) ++begin[target];
    for (size_t i = 1; i <= count; ++i) begin[i] += begin[i - 1];
    std::vector<State> before(next.size());
    for (size_t i = next.size(); i > 0; --i) before[--begin[next[i - 1]]] = State((i - 1) / kinds);
    const auto reaching = [&](auto&& is_goal) {
        std::vector<uint8_t> reached(count, 0);
        std::vector<State> work;
        for (State state = 0; state < count; ++state) {
            if (!is_goal(state)) continue;
            reached[state] = 1;
            work.push_back(state);
        }
        while (!work.empty()) {
            const State state = work.back();
            work.pop_back();
            const size_t end = state + 1 < count ? begin[state + 1] : before.size();
            for (size_t i = begin[state]; i < end; ++i) {
                if (reached[before[i]] != 0) continue;
                reached[before[i]] = 1;
                work.push_back(before[i]);
            }
        }
        return reached;
    };
    const auto ends = reaching([&](State state) { return accepts[state] != 0; });
    const auto fails = reaching([&](State state) { return accepts[state] == 0; });

    Language out;
    out.stretches_ = std::move(stretches);
    out.kinds_ = kinds;
    out.accepts_ = {0};
    out.next_.assign(kinds, kLost);
    std::vector<State> names(count, kLost);
    std::vector<State> order;
    const auto name = [&](State state) {
        if (ends[state] == 0) return kLost;
        if (fails[state] == 0) {
            if (out.everything_ == kLost) {
                out.everything_ = State(out.accepts_.size());
                out.accepts_.push_back(1);
                out.next_.insert(out.next_.end(), kinds, out.everything_);
            }
            return out.everything_;
        }
        if (names[state] == kLost) {
            names[state] = State(out.accepts_.size());
            out.accepts_.push_back(accepts[state]);
            out.next_.insert(out.next_.end(), kinds, kLost);
            order.push_back(state);
        }
        return names[state];
    };
    out.start_ = name(start);
    for (size_t i = 0; i < order.size(); ++i) {
        const State from = names[order[i]];
        for (uint32_t kind = 0; kind < kinds; ++kind) {
            const State target = name(next[order[i] * kinds + kind]);
            out.next_[from * kinds + kind] = target;
        }
    }
    return out;
}

Language Language::anything() {
    return made({{0, 0}}, 1, {0, 1}, {0, 1}, 1);
}

Language Language::nothing() {
    return made({{0, 0}}, 1, {0}, {0}, 0);
}

Result<Language> Language::of_length(uint32_t min, uint32_t max, Budget& budget) {
    if (max < min) return nothing();
    const bool endless = max == kEndless;
    const size_t last = endless ? min : max;
    if (last + 2 > kMaxLanguageStates) return too_many_states();
    if (!budget.take(last)) return too_much_work();
    std::vector<State> next = {0};
    std::vector<uint8_t> accepts = {0};
    for (size_t read = 0; read <= last; ++read) {
        accepts.push_back(read >= min ? 1 : 0);
        next.push_back(read < last ? State(read + 2) : (endless ? State(read + 1) : kLost));
    }
    return made({{0, 0}}, 1, std::move(next), std::move(accepts), 1);
}

Result<Language> Language::of_texts(std::vector<std::string> texts, Budget& budget) {
    // A tree of the texts.
    std::vector<std::map<uint32_t, State>> tree = {{}, {}};
    std::vector<uint8_t> accepts = {0, 0};
    std::vector<uint32_t> used;
    for (const std::string& text : texts) {
        State at = 1;
        for (const uint32_t character : characters_of(text)) {
            if (!budget.take()) return too_much_work();
            const auto [it, added] = tree[at].try_emplace(character, State(tree.size()));
            at = it->second;
            if (!added) continue;
            if (tree.size() == kMaxLanguageStates) return too_many_states();
            tree.emplace_back();
            accepts.push_back(0);
            used.push_back(character);
        }
        accepts[at] = 1;
    }
    std::ranges::sort(used);
    used.erase(std::ranges::unique(used).begin(), used.end());
    std::vector<Stretch> stretches = {{0, 0}};
    for (size_t i = 0; i < used.size(); ++i) {
        if (stretches.back().first == used[i]) stretches.pop_back();
        stretches.push_back({used[i], uint32_t(i + 1)});
        if (used[i] < kLastCharacter) stretches.push_back({used[i] + 1, 0});
    }
    const auto kinds = uint32_t(used.size() + 1);
    if (!budget.take(uint64_t(tree.size()) * kinds / 8)) return too_much_work();
    std::vector<State> next(tree.size() * kinds, kLost);
    for (size_t state = 1; state < tree.size(); ++state) {
        for (const auto& [character, target] : tree[state]) {
            const auto kind = uint32_t(std::ranges::lower_bound(used, character) - used.begin()) + 1;
            next[state * kinds + kind] = target;
        }
    }
    return made(std::move(stretches), kinds, std::move(next), std::move(accepts), 1);
}

Result<Language> Language::both(const Language& other, Budget& budget) const {
    if (empty() || other.is_anything()) return *this;
    if (other.empty() || is_anything()) return other;
    return joined(other, Joined::both, budget);
}

Result<Language> Language::both_or_shorter(const Language& other, Budget& budget, bool& whole) const {
    auto out = both(other, budget);
    for (const uint32_t most : {256u, 64u, 24u}) {
        if (out || budget.spent()) break;
        const auto shorter = both(TRY(of_length(0, most, budget)), budget);
        if (!shorter) continue;
        auto found = shorter->both(other, budget);
        if (!found || found->empty()) continue;
        out = std::move(found);
        whole = false;
    }
    return out;
}

Result<Language> Language::either(const Language& other, Budget& budget) const {
    if (empty() || other.is_anything()) return other;
    if (other.empty() || is_anything()) return *this;
    return joined(other, Joined::either, budget);
}

Result<Language> Language::without(const Language& other, Budget& budget) const {
    if (empty() || other.empty()) return *this;
    if (other.is_anything()) return nothing();
    return joined(other, Joined::without, budget);
}

// Both machines at once: a state is a pair.
Result<Language> Language::joined(const Language& other, Joined how, Budget& budget) const {
    // Kinds are pairs as well.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> pairs;
    std::vector<Stretch> stretches;
    for (size_t i = 0, k = 0; i < stretches_.size() && k < other.stretches_.size();) {
        const uint32_t first = std::max(stretches_[i].first, other.stretches_[k].first);
        const auto [it, added] =
            pairs.try_emplace({stretches_[i].kind, other.stretches_[k].kind}, uint32_t(pairs.size()));
        stretches.push_back({first, it->second});
        const uint32_t end = i + 1 < stretches_.size() ? stretches_[i + 1].first : kLastCharacter + 1;
        const uint32_t other_end = k + 1 < other.stretches_.size() ? other.stretches_[k + 1].first : kLastCharacter + 1;
        if (end <= other_end) ++i;
        if (other_end <= end) ++k;
    }
    const auto kinds = uint32_t(pairs.size());
    std::vector<std::pair<uint32_t, uint32_t>> kind_pairs(kinds);
    for (const auto& [pair, kind] : pairs) kind_pairs[kind] = pair;

    std::unordered_map<uint64_t, State> known;
    std::vector<std::pair<State, State>> order;
    std::vector<uint8_t> accepts = {0};
    bool full = false;
    const auto name = [&](State a, State b) -> State {
        if (a == kLost && (b == kLost || how != Joined::either)) return kLost;
        if (b == kLost && how == Joined::both) return kLost;
        if (how == Joined::without && other.everything(b)) return kLost;
        const auto [it, added] = known.try_emplace(uint64_t(a) << 32 | b, State(order.size() + 1));
        if (!added) return it->second;
        full = full || order.size() + 2 > kMaxLanguageStates;
        order.emplace_back(a, b);
        const bool in_a = accepts_[a] != 0;
        const bool in_b = other.accepts_[b] != 0;
        const bool in = how == Joined::both ? in_a && in_b : how == Joined::either ? in_a || in_b : in_a && !in_b;
        accepts.push_back(in ? 1 : 0);
        return it->second;
    };
    std::vector<State> next(kinds, kLost);
    const State start = name(start_, other.start_);
    for (size_t i = 0; i < order.size(); ++i) {
        if (full) return too_many_states();
        if (!budget.take(kinds)) return too_much_work();
        const auto [a, b] = order[i];
        for (const auto& [kind, other_kind] : kind_pairs) {
            next.push_back(name(this->next(a, kind), other.next(b, other_kind)));
        }
    }
    return made(std::move(stretches), kinds, std::move(next), std::move(accepts), start);
}

uint32_t Language::kind_of(uint32_t character) const {
    const auto after = std::ranges::upper_bound(stretches_, character, {}, &Stretch::first);
    return (after - 1)->kind;
}

bool Language::has(std::string_view text) const {
    State state = start_;
    for (const uint32_t character : characters_of(text)) state = next(state, kind_of(character));
    return accepts(state);
}

CharSet Language::characters(uint32_t kind) const {
    CharSet out;
    for (size_t i = 0; i < stretches_.size(); ++i) {
        if (stretches_[i].kind != kind) continue;
        out.add(stretches_[i].first, i + 1 < stretches_.size() ? stretches_[i + 1].first - 1 : kLastCharacter);
    }
    return out;
}

Language::Lengths Language::lengths() const {
    if (empty()) return {};
    // Level by level for the shortest; the longest exists when no state can be met twice, as every state leads to an end.
    constexpr uint32_t kUnseen = kEndless;
    Lengths out{.least = kEndless, .most = 0};
    std::vector<uint32_t> depth(states(), kUnseen);
    std::vector<uint32_t> arrows(states(), 0);  // from states that can be reached
    std::vector<State> work = {start_};
    depth[start_] = 0;
    for (size_t i = 0; i < work.size(); ++i) {
        if (accepts(work[i])) out.least = std::min(out.least, depth[work[i]]);
        for (uint32_t kind = 0; kind < kinds_; ++kind) {
            const State target = next(work[i], kind);
            if (target == kLost) continue;
            ++arrows[target];
            if (depth[target] != kUnseen) continue;
            depth[target] = depth[work[i]] + 1;
            work.push_back(target);
        }
    }
    if (arrows[start_] > 0) {
        out.most = kEndless;
        return out;
    }
    std::vector<uint32_t> longest(states(), 0);
    std::vector<State> ready = {start_};
    size_t done = 0;
    while (!ready.empty()) {
        const State state = ready.back();
        ready.pop_back();
        ++done;
        if (accepts(state)) out.most = std::max(out.most, longest[state]);
        for (uint32_t kind = 0; kind < kinds_; ++kind) {
            const State target = next(state, kind);
            if (target == kLost) continue;
            longest[target] = std::max(longest[target], longest[state] + 1);
            if (--arrows[target] == 0) ready.push_back(target);
        }
    }
    if (done != work.size()) out.most = kEndless;
    return out;
}

}  // namespace lapidary::grammar
