// Finds things by name. Names come from files that may be hostile, and a hash table can be made to collide until it
// crawls (a file may hold 131,072 names); sorting cannot.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace lapidary::gguf {

// The names are views: whatever they point into must outlive the index.
class NameIndex {
  public:
    NameIndex() = default;

    // `name_of(items[i])` is the name of position i. Returns the position of an item whose name occurred before.
    template <class Item, class NameOf>
    std::optional<uint32_t> build(std::span<const Item> items, NameOf name_of) {
        entries_.clear();
        entries_.reserve(items.size());
        for (const Item& item : items) entries_.push_back({name_of(item), uint32_t(entries_.size())});
        return sort();
    }

    [[nodiscard]] std::optional<uint32_t> find(std::string_view name) const {
        const auto it = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
        if (it == entries_.end() || it->name != name) return std::nullopt;
        return it->position;
    }

  private:
    struct Entry {
        std::string_view name;
        uint32_t position;
    };

    std::optional<uint32_t> sort() {
        std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
            const int order = a.name.compare(b.name);
            return order != 0 ? order < 0 : a.position < b.position;
        });
        const auto twice = std::ranges::adjacent_find(entries_, {}, &Entry::name);
        if (twice == entries_.end()) return std::nullopt;
        return (twice + 1)->position;
    }

    std::vector<Entry> entries_;
};

}  // namespace lapidary::gguf
