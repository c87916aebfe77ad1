#include "grammar/program.h"

#include <algorithm>
#include <string>
#include <utility>

namespace lapidary::grammar {

NodeId ProgramBuilder::add(const Node& node) {
    if (program_.nodes.size() >= kMaxNodes) {
        full_ = true;
        return finish();
    }
    program_.nodes.push_back(node);
    return NodeId(program_.nodes.size() - 1);
}

NodeId ProgramBuilder::byte(const ByteSet& set, NodeId next) {
    // Few sets differ, and the latest ones are used again soonest.
    constexpr size_t kLookBack = 64;
    if (full_) return finish();
    const size_t from = program_.sets.size() > kLookBack ? program_.sets.size() - kLookBack : 0;
    size_t at = program_.sets.size();
    while (at > from && program_.sets[at - 1] != set) --at;
    if (at == from) {
        program_.sets.push_back(set);
        at = program_.sets.size();
    }
    return add({.kind = Node::Kind::bytes, .a = uint32_t(at - 1), .b = next});
}

NodeId ProgramBuilder::literal(std::string_view bytes, NodeId next) {
    for (size_t i = bytes.size(); i > 0 && !full_; --i) {
        uint32_t& known = single_sets_[uint8_t(bytes[i - 1])];
        if (known == 0) {
            program_.sets.push_back(ByteSet::of(bytes.substr(i - 1, 1)));
            known = uint32_t(program_.sets.size());
        }
        next = add({.kind = Node::Kind::bytes, .a = known - 1, .b = next});
    }
    return next;
}

NodeId ProgramBuilder::open_distinct(NodeId next) {
    const NodeId id = literal("[", next);
    if (id != finish()) program_.nodes[id].distinct = true;
    program_.distinct = true;
    return id;
}

NodeId ProgramBuilder::choice(std::span<const NodeId> targets) {
    const auto first = uint32_t(program_.targets.size());
    if (first + targets.size() > 2 * kMaxNodes) {
        full_ = true;
        return finish();
    }
    program_.targets.insert(program_.targets.end(), targets.begin(), targets.end());
    return add({.kind = Node::Kind::choice, .a = first, .b = uint32_t(targets.size())});
}

NodeId ProgramBuilder::add_call(NodeId callee, NodeId next) {
    return add({.kind = Node::Kind::call, .a = callee, .b = next});
}

NodeId ProgramBuilder::loop(NodeId body, NodeId next, uint32_t min, uint32_t max, bool free_text) {
    return add({.kind = Node::Kind::loop, .free_text = free_text, .a = body, .b = next, .min = min, .max = max});
}

NodeId ProgramBuilder::any_of(std::vector<std::string> texts, NodeId next) {
    std::ranges::sort(texts);
    texts.erase(std::ranges::unique(texts).begin(), texts.end());
    return any_of_sorted(texts, 0, next);
}

// The texts are the same up to `at`.
NodeId ProgramBuilder::any_of_sorted(std::span<const std::string> texts, size_t at, NodeId next) {
    if (texts.size() == 1) return literal(std::string_view(texts[0]).substr(at), next);
    std::vector<NodeId> branches;
    while (!texts.empty() && !full_) {
        if (texts[0].size() == at) {
            branches.push_back(next);
            texts = texts.subspan(1);
            continue;
        }
        size_t same = 1;
        while (same < texts.size() && texts[same][at] == texts[0][at]) ++same;
        const auto group = texts.subspan(0, same);
        size_t end = at + 1;  // what the whole group shares is read without recursion
        while (end < group.front().size() && group.front()[end] == group.back()[end]) ++end;
        const NodeId rest = same == 1 ? next : any_of_sorted(group, end, next);
        const auto shared = std::string_view(group.front()).substr(at, same == 1 ? std::string_view::npos : end - at);
        branches.push_back(literal(shared, rest));
        texts = texts.subspan(same);
    }
    return choice(branches);
}

NodeId ProgramBuilder::open_choice(size_t targets, uint32_t room) {
    const NodeId id = choice(std::vector<NodeId>(targets, finish()));
    if (id != finish() && room > 0) {
        program_.nodes[id].free_text = true;
        program_.nodes[id].max = room;
    }
    return id;
}

void ProgramBuilder::set_target(NodeId choice, size_t index, NodeId target) {
    if (choice == finish()) return;  // made when the builder was full
    program_.targets[program_.nodes[choice].a + index] = target;
}

Result<Program> ProgramBuilder::build(NodeId start) && {
    if (full_) {
        return fail(Code::limit, "the schema is too large: it would take more than {} states to follow it", kMaxNodes);
    }
    program_.start = start;
    find_needs();
    if (program_.need[start] == kUnlimited) {
        return fail(Code::invalid_argument, "the schema allows no JSON at all: nothing finite can satisfy it");
    }
    if (program_.need[start] >= kMaxFrames) {
        return fail(Code::limit, "the schema is nested too deeply: even its smallest JSON is too deep");
    }
    find_classes();
    return std::move(program_);
}

uint32_t ProgramBuilder::need_of(const Node& node) const {
    const auto& need = program_.need;
    const auto called = [&](NodeId id) { return need[id] == kUnlimited ? kUnlimited : need[id] + 1; };
    switch (node.kind) {
        case Node::Kind::finish: return 0;
        case Node::Kind::bytes: return program_.sets[node.a].empty() ? kUnlimited : need[node.b];
        case Node::Kind::call: return std::max(called(node.a), need[node.b]);
        case Node::Kind::loop: return node.min == 0 ? need[node.b] : std::max(called(node.a), need[node.b]);
        case Node::Kind::choice: {
            uint32_t least = kUnlimited;
            for (uint32_t i = 0; i < node.b; ++i) least = std::min(least, need[program_.targets[node.a + i]]);
            return least;
        }
    }
    return kUnlimited;
}

template <class Visit>
void ProgramBuilder::each_target(const Node& node, Visit visit) const {
    switch (node.kind) {
        case Node::Kind::finish: return;
        case Node::Kind::bytes: visit(node.b); return;
        case Node::Kind::call:
        case Node::Kind::loop:
            visit(node.a);
            visit(node.b);
            return;
        case Node::Kind::choice:
            for (uint32_t i = 0; i < node.b; ++i) visit(program_.targets[node.a + i]);
            return;
    }
}

// Lowers the needs, from the end backwards, until nothing changes: whoever leads to a node that changed is looked at again.
void ProgramBuilder::find_needs() {
    const size_t count = program_.nodes.size();
    std::vector<uint32_t> begin(count + 1, 0);
    for (const Node& node : program_.nodes) each_target(node, [&](NodeId target) { ++begin[target]; });
    for (size_t i = 1; i <= count; ++i) begin[i] += begin[i - 1];
    std::vector<NodeId> before(begin[count]);
    for (size_t id = count; id > 0; --id) {
        each_target(program_.nodes[id - 1], [&](NodeId target) { before[--begin[target]] = NodeId(id - 1); });
    }
    program_.need.assign(count, kUnlimited);
    std::vector<uint8_t> waiting(count, 0);
    std::vector<NodeId> work;
    const auto look = [&](NodeId id) {
        const uint32_t need = need_of(program_.nodes[id]);
        if (need >= program_.need[id]) return;
        program_.need[id] = need;
        for (size_t i = begin[id]; i < (id + 1 < count ? begin[id + 1] : before.size()); ++i) {
            if (std::exchange(waiting[before[i]], 1) == 0) work.push_back(before[i]);
        }
    };
    for (NodeId id = 0; id < count; ++id) look(id);
    for (size_t next = 0; next < work.size(); ++next) {
        waiting[work[next]] = 0;
        look(work[next]);
        if (next > (size_t(1) << 16) && next * 2 > work.size()) {
            work.erase(work.begin(), work.begin() + ptrdiff_t(next) + 1);
            next = size_t(0) - 1;
        }
    }
}

void ProgramBuilder::find_classes() {
    program_.classes = 1;
    for (const ByteSet& set : program_.sets) {
        // Splits every class into the bytes inside the set and those outside.
        std::array<std::array<int32_t, 2>, 256> renamed{};
        for (auto& names : renamed) names = {-1, -1};
        uint32_t classes = 0;
        for (uint32_t byte = 0; byte < 256; ++byte) {
            int32_t& name = renamed[program_.byte_class[byte]][set.has(uint8_t(byte)) ? 1 : 0];
            if (name < 0) name = int32_t(classes++);
            program_.byte_class[byte] = uint8_t(name);
        }
        program_.classes = classes;
    }
}

}  // namespace lapidary::grammar
