#include "kernels/link.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/sort_few.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {
namespace {

constexpr std::string_view kSecond = "/2";

bool is_part_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Names end in _1: where is the next one's, from `at` on?
size_t find_first_name(std::string_view text, size_t at) {
    for (at = text.find("_1", at); at != std::string_view::npos; at = text.find("_1", at + 1)) {
        if (at + 2 == text.size() || !is_part_of_name(text[at + 2])) return at;
    }
    return at;
}

class Linker {
  public:
    explicit Linker(std::span<const Slot> slots) : slots_(slots) {}

    void add(const Module& module, bool second) {
        second = second && find_first_name(module.text, 0) != std::string_view::npos;
        if (std::ranges::find(added_, std::pair(&module, second)) != added_.end()) return;
        added_.emplace_back(&module, second);
        for (std::string_view name : module.imports) {
            const bool is_second = second || name.ends_with(kSecond);
            if (name.ends_with(kSecond)) name.remove_suffix(kSecond.size());
            if (const Module* import = resolve(name, is_second)) add(*import, is_second);
        }
        append(module.text, second);
    }

    [[nodiscard]] std::string text(std::span<const uint8_t> unbound) && {
        for (const uint8_t number : unbound) unbind(number);
        close_gaps();
        return std::move(enables_ += text_);
    }

  private:
    [[nodiscard]] const Module* resolve(std::string_view name, bool second) const {
        if (!name.starts_with('$')) return find_module(name);
        const auto slot = std::ranges::find(slots_, name.substr(1), &Slot::name);
        if (slot == slots_.end()) return nullptr;
        return second && slot->second != nullptr ? slot->second : slot->first;
    }

    void append(std::string_view text, bool second) {
        while (text.starts_with("enable ")) {
            const size_t line = text.find('\n') + 1;
            enables_ += text.substr(0, line);
            text.remove_prefix(line);
        }
        const size_t begin = text_.size();
        text_ += text;
        if (!second) return;
        for (size_t at = find_first_name(text_, begin); at != std::string::npos; at = find_first_name(text_, at)) {
            text_[at + 1] = '2';
        }
    }

    // "@group(0) @binding(4) var<storage, read> x2: array<vec4f>;" → "var<private> x2: array<vec4f, 1>;"
    void unbind(uint8_t number) {
        const std::string mark = "@group(0) @binding(" + std::to_string(number) + ") var<";
        const size_t begin = text_.find(mark);
        if (begin == std::string::npos) return;
        const size_t end = text_.find(';', begin);
        if (text_.compare(end - 1, 1, ">") == 0) text_.insert(end - 1, ", 1");
        text_.replace(begin, text_.find('>', begin) - begin, "var<private");
    }

    // Modules number their bindings so that no two that can meet have the same; a layout has them one after the other.
    void close_gaps() {
        constexpr std::string_view kMark = "@binding(";
        std::vector<std::pair<unsigned, size_t>> found;  // number, place
        for (size_t at = text_.find(kMark); at != std::string::npos; at = text_.find(kMark, at + 1)) {
            unsigned number = 0;
            for (size_t i = at + kMark.size(); text_[i] != ')'; ++i) number = 10 * number + unsigned(text_[i] - '0');
            found.emplace_back(number, at + kMark.size());
        }
        sort_few(found, std::less{});
        std::vector<std::pair<size_t, unsigned>> ranks;  // from the last place to the first, so that places stay true
        for (unsigned rank = 0; rank < found.size(); ++rank) ranks.emplace_back(found[rank].second, rank);
        sort_few(ranks, std::greater{});
        for (const auto& [place, rank] : ranks)
            text_.replace(place, text_.find(')', place) - place, std::to_string(rank));
    }

    std::span<const Slot> slots_;
    std::vector<std::pair<const Module*, bool>> added_;
    std::string enables_, text_;
};

}  // namespace

std::span<const Module* const> modules() {
    return wgsl::all;
}

const Module* find_module(std::string_view name) {
    const auto* const found = std::ranges::find(wgsl::imported, name, &Module::name);
    return found == std::end(wgsl::imported) ? nullptr : *found;
}

std::string link(const Module& kernel, std::span<const Slot> slots, std::span<const uint8_t> unbound) {
    Linker linker(slots);
    linker.add(kernel, false);
    return std::move(linker).text(unbound);
}

bool has_slot(const Module& kernel, std::string_view slot) {
    return std::ranges::any_of(kernel.imports, [&](std::string_view name) {
        if (name.starts_with('$')) return name.substr(1) == slot;
        const Module* import = find_module(name);
        return import != nullptr && has_slot(*import, slot);
    });
}

}  // namespace lapidary::kernels
