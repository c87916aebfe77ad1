// Recogniser: runs a Program over bytes and remembers every step it has taken.
//
// A state is a set of stacks. Stacks share their lower parts, equal stacks and equal states are stored once, and a
// step from a state is looked up the second time: a machine without a stack, grown as far as it is needed.
#pragma once

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "grammar/program.h"

namespace lapidary::grammar {

// What one mask may take: some hundredths of a second. More is hostile, or too vague to be followed.
inline constexpr uint64_t kMaskSteps = 1'000'000;

class Recogniser {
  public:
    using State = uint32_t;
    static constexpr State kDead = 0;  // no text that begins like this is allowed

    explicit Recogniser(std::shared_ptr<const Program> program);

    [[nodiscard]] State start() const { return start_; }
    State next(State state, uint8_t byte) {
        const State known = steps_[state * classes_ + program_->byte_class[byte]];
        return known != kUnknown ? known : find_next(state, byte);
    }
    // The text read so far is complete (and may be able to go on).
    [[nodiscard]] bool complete(State state) const { return states_[state].complete; }
    // So many characters of a JSON string, whatever they are, can be read from here.
    [[nodiscard]] uint32_t room(State state) const { return states_[state].room; }
    // Whether only the free text of `room` can read plain characters here.
    [[nodiscard]] bool only_room(State state) const { return states_[state].only_room; }
    // The same as `room` for the rest of a text that has begun: also within a character.
    [[nodiscard]] uint32_t room_within(State state) const {
        return std::max(states_[state].room, states_[state].room_within);
    }

    // Whether a bracket here opens, as some way goes on, an array of distinct items.
    [[nodiscard]] bool opens_distinct(State state) const;

    // So many steps may be taken from now on. Beyond them, and beyond what can be remembered, every step leads to kDead.
    void allow(uint64_t steps) {
        steps_left_ = steps;
        exhausted_ = false;
    }
    [[nodiscard]] bool exhausted() const { return exhausted_; }
    [[nodiscard]] uint64_t steps_left() const { return steps_left_; }

    // Forgets all states but one when there are many, and returns what that one is called now.
    State trim(State keep);

    [[nodiscard]] size_t size() const { return states_.size(); }

  private:
    static constexpr State kUnknown = ~State(0);
    using FrameId = uint32_t;
    // A node, how often its loop has run, and what is below it on the stack (0: nothing).
    struct Frame {
        FrameId below = 0;
        NodeId node = 0;
        uint32_t count = 0;
        bool operator==(const Frame&) const = default;
    };
    struct FrameHash {
        size_t operator()(const Frame& frame) const;
    };
    struct ListHash {
        size_t operator()(const std::vector<FrameId>& list) const;
    };
    struct StateInfo {
        std::vector<FrameId> tops;  // sorted; each is about to read a byte
        bool complete = false;
        bool only_room = false;
        uint32_t room = 0;
        uint32_t room_within = 0;
    };

    FrameId frame(const Frame& frame);
    State find_next(State state, uint8_t byte);
    void put(const Frame& frame);
    void follow(FrameId id, StateInfo& out);
    State settle();
    void clear();
    void begin();

    std::shared_ptr<const Program> program_;
    uint32_t classes_;
    State start_ = kDead;

    std::vector<Frame> frames_;
    std::vector<uint32_t> depth_;  // of each frame
    std::vector<uint32_t> seen_;   // the last closure that met the frame
    std::unordered_map<Frame, FrameId, FrameHash> frame_ids_;
    std::vector<StateInfo> states_;
    std::vector<State> steps_;  // [state, class]
    std::unordered_map<std::vector<FrameId>, State, ListHash> state_ids_;

    std::vector<FrameId> work_;
    uint32_t closure_ = 0;
    uint64_t steps_left_ = ~uint64_t(0);
    bool exhausted_ = false;
};

}  // namespace lapidary::grammar
