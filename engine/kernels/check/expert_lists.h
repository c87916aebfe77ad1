// Which slots each expert has, as expert_lists.wgsl leaves them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lapidary::kernels::check {

// `chosen`: the expert of each slot. The counts, then `most` places for the slots of each.
inline std::vector<uint32_t> lists_of(std::span<const uint32_t> chosen, uint32_t experts, uint32_t most) {
    std::vector<uint32_t> out(size_t(experts) * (most + 1));
    for (uint32_t slot = 0; slot < chosen.size(); ++slot) {
        uint32_t& count = out[chosen[slot]];
        out[experts + size_t(chosen[slot]) * most + count] = slot;
        ++count;
    }
    return out;
}

}  // namespace lapidary::kernels::check
