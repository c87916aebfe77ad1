#include "kernels/arena.h"

#include <algorithm>
#include <limits>

namespace lapidary::kernels {
namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();

// From the dispatch that writes it first to the one that looks at it last.
struct Life {
    size_t first = kNever;
    size_t last = 0;
};

Result<std::vector<Life>> lives_of(std::span<const Dispatch> dispatches, std::span<const Scratch> tensors) {
    std::vector<Life> out(tensors.size());
    for (size_t i = 0; i < dispatches.size(); ++i) {
        for (const Dispatch::Bound& bound : dispatches[i].bindings) {
            if (!is_scratch(bound.at.buffer)) continue;
            const size_t index = bound.at.buffer - kScratchIds;
            Life& life = out[index];
            if (life.first == kNever && bound.use != Use::write) {
                return fail(Code::internal, "{} reads '{}' before anything has written it", dispatches[i].name(),
                            tensors[index].name);
            }
            life.first = std::min(life.first, i);
            life.last = i;
        }
    }
    return out;
}

// The smallest free one that is large enough, else a new one.
size_t take(std::vector<uint64_t>& sizes, std::vector<bool>& taken, uint64_t bytes) {
    size_t best = sizes.size();
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (!taken[i] && sizes[i] >= bytes && (best == sizes.size() || sizes[i] < sizes[best])) best = i;
    }
    if (best == sizes.size()) {
        sizes.push_back(bytes);
        taken.push_back(false);
    }
    taken[best] = true;
    return best;
}

}  // namespace

Result<std::vector<size_t>> assign_buffers(std::span<const Dispatch> dispatches, std::span<const Scratch> tensors,
                                           std::vector<uint64_t>& sizes) {
    const std::vector<Life> lives = TRY(lives_of(dispatches, tensors));
    std::vector<size_t> out(tensors.size(), kNever);
    std::vector<bool> taken(sizes.size(), false);
    for (size_t i = 0; i < dispatches.size(); ++i) {
        for (const Dispatch::Bound& bound : dispatches[i].bindings) {
            if (!is_scratch(bound.at.buffer)) continue;
            const size_t index = bound.at.buffer - kScratchIds;
            if (out[index] == kNever) out[index] = take(sizes, taken, tensors[index].bytes);
        }
        for (const Dispatch::Bound& bound : dispatches[i].bindings) {
            if (!is_scratch(bound.at.buffer)) continue;
            const size_t index = bound.at.buffer - kScratchIds;
            if (lives[index].last == i) taken[out[index]] = false;
        }
    }
    return out;
}

}  // namespace lapidary::kernels
