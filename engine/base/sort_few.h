// Sorting a handful of things: std::sort is two kilobytes of WebAssembly for every type, and everybody downloads them.
#pragma once

#include <algorithm>
#include <functional>
#include <ranges>

namespace lapidary {

// Equal ones keep their order. The time grows with the square of the count, so not for what a stranger can make long.
template <std::ranges::bidirectional_range Range, class Less = std::ranges::less, class Projection = std::identity>
void sort_few(Range&& range, Less less = {}, Projection projection = {}) {
    const auto first = std::ranges::begin(range);
    for (auto end = first; end != std::ranges::end(range); ++end) {
        for (auto at = end; at != first; --at) {
            const auto before = std::ranges::prev(at);
            if (!std::invoke(less, std::invoke(projection, *at), std::invoke(projection, *before))) break;
            std::ranges::iter_swap(before, at);
        }
    }
}

}  // namespace lapidary
