// Program: what a text may look like, as a machine with a stack that reads bytes.
//
// A node reads a byte, chooses, calls, counts or returns. A schema becomes a program once; a Recogniser runs it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "grammar/byte_set.h"

namespace lapidary::grammar {

using NodeId = uint32_t;

// Beyond these a schema is refused.
inline constexpr size_t kMaxNodes = 1 << 20;
// Open calls and loops. An object or array inside another takes one; what would need more is not begun. JSON we
// write can be read again (chat/json.h).
inline constexpr uint32_t kMaxFrames = 64;
inline constexpr uint32_t kUnlimited = std::numeric_limits<uint32_t>::max();

struct Node {
    enum class Kind : uint8_t {
        bytes,   // reads a byte of set a, goes on at b
        choice,  // goes on at any of targets[a, a + b)
        call,    // runs a, and when that returns goes on at b
        loop,    // runs a between min and max times, then goes on at b
        finish,  // returns to the caller; from the outermost call: the text is complete
    };
    Kind kind = Kind::finish;
    // loop: the body reads any character of a JSON string; choice: `max` of them can be read
    bool free_text = false;
    bool distinct = false;  // bytes: opens an array whose items must differ
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t min = 0;
    uint32_t max = 0;
};

struct Program {
    std::vector<Node> nodes;
    std::vector<ByteSet> sets;
    std::vector<NodeId> targets;
    NodeId start = 0;
    bool distinct = false;  // some node is
    // How many frames it takes at least to get from a node to the end of its call; kUnlimited: there is no way.
    std::vector<uint32_t> need;
    // Bytes no set tells apart are of one class.
    std::array<uint8_t, 256> byte_class{};
    uint32_t classes = 0;
};

// Builds from the end: a node is made after the node it goes on at. Past kMaxNodes it makes nothing more, and
// `build` says so.
class ProgramBuilder {
  public:
    ProgramBuilder() { add({.kind = Node::Kind::finish}); }

    [[nodiscard]] static NodeId finish() { return 0; }
    NodeId byte(const ByteSet& set, NodeId next);
    NodeId literal(std::string_view bytes, NodeId next);
    // The bracket of an array whose items must differ: seen to by grammar/distinct.h.
    NodeId open_distinct(NodeId next);
    NodeId choice(std::span<const NodeId> targets);
    NodeId choice(std::initializer_list<NodeId> targets) { return choice(std::span(targets.begin(), targets.size())); }
    NodeId optional(NodeId taken, NodeId next) { return choice({taken, next}); }
    NodeId call(NodeId callee, NodeId next) { return next == finish() ? callee : add_call(callee, next); }
    // `body` ends in finish().
    NodeId loop(NodeId body, NodeId next, uint32_t min, uint32_t max, bool free_text = false);
    // Any of the texts, then next. Shared beginnings are read once.
    NodeId any_of(std::vector<std::string> texts, NodeId next);
    NodeId nothing() { return choice({}); }

    // A node that is needed before what it stands for exists.
    NodeId promise() { return choice({finish()}); }
    void keep(NodeId promised, NodeId target) { set_target(promised, 0, target); }
    // A choice whose targets are told later. `room`: so many characters of a string, whatever they are, can be read.
    NodeId open_choice(size_t targets, uint32_t room);
    void set_target(NodeId choice, size_t index, NodeId target);
    [[nodiscard]] size_t size() const { return program_.nodes.size(); }

    [[nodiscard]] bool full() const { return full_; }
    Result<Program> build(NodeId start) &&;

  private:
    NodeId add(const Node& node);
    NodeId add_call(NodeId callee, NodeId next);
    NodeId any_of_sorted(std::span<const std::string> texts, size_t at, NodeId next);
    void find_needs();
    [[nodiscard]] uint32_t need_of(const Node& node) const;
    template <class Visit>
    void each_target(const Node& node, Visit visit) const;
    void find_classes();

    Program program_;
    std::array<uint32_t, 256> single_sets_{};  // where the set of one byte is, plus one
    bool full_ = false;
};

}  // namespace lapidary::grammar
