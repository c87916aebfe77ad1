#include "grammar/recogniser.h"

#include <algorithm>

namespace lapidary::grammar {
namespace {

// Stacks of one state.
constexpr size_t kMaxTops = 1 << 14;
// A step to a state beyond this is refused, until `trim` makes room. Far above what a pass over a vocabulary takes.
constexpr size_t kMaxStates = 1 << 15;
constexpr size_t kTrimStates = 1 << 12;
constexpr size_t kMaxKnownFrames = 1 << 19;
constexpr size_t kTrimFrames = 1 << 16;

uint64_t mixed(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

}  // namespace

size_t Recogniser::FrameHash::operator()(const Frame& frame) const {
    return size_t(mixed(mixed(frame.below, frame.node), frame.count));
}

size_t Recogniser::ListHash::operator()(const std::vector<FrameId>& list) const {
    uint64_t hash = list.size();
    for (const FrameId id : list) hash = mixed(hash, id);
    return size_t(hash);
}

Recogniser::Recogniser(std::shared_ptr<const Program> program)
    : program_(std::move(program)), classes_(program_->classes) {
    clear();
    begin();
}

void Recogniser::begin() {
    allow(kMaskSteps);
    put({.below = 0, .node = program_->start});
    start_ = settle();
}

void Recogniser::clear() {
    frames_.assign(1, {});
    depth_.assign(1, 0);
    seen_.assign(1, 0);
    frame_ids_.clear();
    states_.assign(1, {});
    steps_.assign(classes_, kDead);
    state_ids_.clear();
    work_.clear();
    closure_ = 1;
}

Recogniser::FrameId Recogniser::frame(const Frame& frame) {
    const auto [it, added] = frame_ids_.try_emplace(frame, FrameId(frames_.size()));
    if (added) {
        frames_.push_back(frame);
        depth_.push_back(depth_[frame.below] + 1);
        seen_.push_back(0);
    }
    return it->second;
}

// Adds a stack to the closure under way, if its top can be completed within the frames there are.
void Recogniser::put(const Frame& top) {
    const uint32_t need = program_->need[top.node];
    if (need == kUnlimited || depth_[top.below] + 1 + need > kMaxFrames) return;
    if (frames_.size() >= kMaxKnownFrames || work_.size() >= kMaxKnownFrames) {
        exhausted_ = true;
        return;
    }
    const FrameId id = frame(top);
    if (seen_[id] == closure_) return;
    seen_[id] = closure_;
    work_.push_back(id);
}

void Recogniser::follow(FrameId id, StateInfo& out) {
    const Frame top = frames_[id];
    const Node& node = program_->nodes[top.node];
    switch (node.kind) {
        case Node::Kind::bytes: {
            if (out.tops.size() < kMaxTops) {
                out.tops.push_back(id);
            } else {
                exhausted_ = true;
            }
            const Frame& below = frames_[top.below];
            const Node& around = program_->nodes[below.node];
            const bool in_free_text = around.kind == Node::Kind::loop && around.free_text;
            if (in_free_text && !program_->sets[node.a].meets(ByteSet::range(0, 0x7F) | ByteSet::range(0xC0, 0xFF))) {
                out.room_within =
                    std::max(out.room_within, around.max == kUnlimited ? kUnlimited : around.max - below.count);
            }
            if (!in_free_text && program_->sets[node.a].meets(kPlainAscii | ByteSet::range(0x80, 0xFF))) {
                out.only_room = false;
            }
            return;
        }
        case Node::Kind::choice:
            if (node.free_text) out.room = std::max(out.room, node.max);
            for (uint32_t i = 0; i < node.b; ++i) put({top.below, program_->targets[node.a + i], 0});
            return;
        case Node::Kind::call: put({frame({top.below, node.b, 0}), node.a, 0}); return;
        case Node::Kind::loop: {
            if (top.count >= node.min) put({top.below, node.b, 0});
            if (top.count >= node.max) return;
            if (node.free_text) {
                const uint32_t left = node.max == kUnlimited ? kUnlimited : node.max - top.count;
                out.room = std::max(out.room, left);
            }
            // Without an upper limit nobody counts beyond the lower one.
            const uint32_t count = node.max == kUnlimited ? std::min(top.count + 1, node.min) : top.count + 1;
            put({frame({top.below, top.node, count}), node.a, 0});
            return;
        }
        case Node::Kind::finish:
            if (top.below == 0) {
                out.complete = true;
            } else {
                put(frames_[top.below]);
            }
            return;
    }
}

// Follows the stacks that were put until each reads a byte, and names the state they make.
Recogniser::State Recogniser::settle() {
    StateInfo info;
    info.only_room = true;
    while (!work_.empty()) {
        const FrameId id = work_.back();
        work_.pop_back();
        exhausted_ = exhausted_ || steps_left_ == 0;
        if (exhausted_) break;
        --steps_left_;
        follow(id, info);
    }
    ++closure_;
    if (exhausted_) {  // what was found is not all there is
        work_.clear();
        return kDead;
    }
    if (info.tops.empty() && !info.complete) return kDead;
    std::ranges::sort(info.tops);
    // Whether the text is complete belongs to the name: 0 is no frame that reads.
    std::vector<FrameId> name = info.tops;
    if (info.complete) name.push_back(0);
    const auto [it, added] = state_ids_.try_emplace(std::move(name), State(states_.size()));
    if (!added) return it->second;
    states_.push_back(std::move(info));
    steps_.resize(steps_.size() + classes_, kUnknown);
    return it->second;
}

Recogniser::State Recogniser::find_next(State state, uint8_t byte) {
    const size_t reading = states_[state].tops.size();
    if (states_.size() >= kMaxStates || steps_left_ < reading) exhausted_ = true;
    if (exhausted_) return kDead;  // not remembered
    steps_left_ -= reading;
    for (const FrameId id : states_[state].tops) {
        const Frame top = frames_[id];
        const Node& node = program_->nodes[top.node];
        if (program_->sets[node.a].has(byte)) put({top.below, node.b, 0});
    }
    const State next = settle();
    if (!exhausted_) steps_[state * classes_ + program_->byte_class[byte]] = next;
    return next;
}

bool Recogniser::opens_distinct(State state) const {
    return std::ranges::any_of(states_[state].tops,
                               [&](FrameId id) { return program_->nodes[frames_[id].node].distinct; });
}

Recogniser::State Recogniser::trim(State keep) {
    if (states_.size() < kTrimStates && frames_.size() < kTrimFrames) return keep;
    // The stacks of the state to keep, from the bottom up.
    std::vector<std::vector<Frame>> stacks;
    for (FrameId id : states_[keep].tops) {
        std::vector<Frame>& stack = stacks.emplace_back();
        for (; id != 0; id = frames_[id].below) stack.push_back(frames_[id]);
        std::ranges::reverse(stack);
    }
    const StateInfo info = states_[keep];
    clear();
    begin();
    if (keep == kDead) return kDead;
    StateInfo kept = info;
    kept.tops.clear();
    for (const std::vector<Frame>& stack : stacks) {
        FrameId below = 0;
        for (const Frame& level : stack) below = frame({below, level.node, level.count});
        kept.tops.push_back(below);
    }
    std::ranges::sort(kept.tops);
    std::vector<FrameId> name = kept.tops;
    if (kept.complete) name.push_back(0);
    const auto [it, added] = state_ids_.try_emplace(std::move(name), State(states_.size()));
    if (added) {
        states_.push_back(std::move(kept));
        steps_.resize(steps_.size() + classes_, kUnknown);
    }
    return it->second;
}

}  // namespace lapidary::grammar
