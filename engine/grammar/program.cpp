#include "grammar/program.h"

#include <algorithm>
#include <string>

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
    for (size_t i = bytes.size(); i > 0 && !full_; --i) next = byte(ByteSet::of(bytes.substr(i - 1, 1)), next);
    return next;
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

void ProgramBuilder::keep(NodeId promised, NodeId target) {
    if (promised == finish()) return;  // made when the builder was full
    program_.targets[program_.nodes[promised].a] = target;
}

Result<Program> ProgramBuilder::build(NodeId start) && {
    if (full_) {
        return fail(Code::limit, "the schema is too large: it would take more than {} states to follow it", kMaxNodes);
    }
    program_.start = start;
    TRY(find_needs());
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

// Lowers the needs until nothing changes. Nodes come after those they go on at, so one pass settles all but the
// promises; each further pass settles one more level of recursion.
Status ProgramBuilder::find_needs() {
    constexpr int kMaxPasses = 512;
    program_.need.assign(program_.nodes.size(), kUnlimited);
    bool changed = true;
    for (int pass = 0; changed; ++pass) {
        if (pass == kMaxPasses) return fail(Code::limit, "the schema refers to itself in too many steps");
        changed = false;
        for (size_t id = 0; id < program_.nodes.size(); ++id) {
            const uint32_t need = need_of(program_.nodes[id]);
            changed = changed || need != program_.need[id];
            program_.need[id] = need;
        }
    }
    return {};
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
