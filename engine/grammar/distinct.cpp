#include "grammar/distinct.h"

#include <algorithm>
#include <cmath>

#include "chat/json.h"

namespace lapidary::grammar {
namespace {

constexpr uint8_t kCallQuote = 0xFF;  // kQuoteByte
constexpr size_t kMaxLookAhead = 4000;

bool is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

// The same text for equal values.
void write_meaning(const chat::Json& value, std::string& out) {
    if (value.is_object()) {
        std::vector<std::string> members;
        for (const auto& [name, inner] : value.items()) {
            std::string member = chat::json_text(chat::Json(name)) + ":";
            write_meaning(inner, member);
            members.push_back(std::move(member));
        }
        std::ranges::sort(members);
        for (const std::string& member : members) out += "{" + member;
        out += "}";
    } else if (value.is_array()) {
        for (const chat::Json& inner : value) {
            out += "[";
            write_meaning(inner, out);
        }
        out += "]";
    } else if (value.is_number()) {
        const double number = value.get<double>();
        out += number == 0 ? "0" : chat::json_text(chat::Json(number));
    } else {
        out += chat::json_text(value);
    }
}

std::string meaning_of(const std::string& written) {
    const chat::Json value = chat::Json::parse(written, nullptr, false);
    if (value.is_discarded()) return written;
    std::string out;
    write_meaning(value, out);
    return out;
}

}  // namespace

void Distinct::begin_value(uint8_t byte) {
    scalar_ = byte != '"' && byte != kCallQuote && byte != '[' && byte != '{';
    if (levels_.empty() || !levels_.back().array || levels_.back().in_item) return;
    levels_.back().in_item = true;
    levels_.back().item_start = text_.size();
}

bool Distinct::end_item() {
    scalar_ = false;
    if (levels_.empty() || !levels_.back().in_item) return true;
    Level& level = levels_.back();
    level.in_item = false;
    if (!level.distinct) return true;
    std::string item = text_.substr(level.item_start);
    // Inside no other such array nobody needs the text any more.
    if (distinct_levels_ == 1) text_.clear();
    std::string meaning = meaning_of(item);
    if (level.means(meaning)) return false;
    level.latest.add(std::move(item), std::move(meaning));
    return true;
}

void Distinct::settle() {
    for (Level& level : levels_) {
        if (level.latest.written.empty()) continue;
        if (level.items == nullptr) {
            level.items = std::make_shared<Items>();
        } else if (level.items.use_count() > 1) {
            level.items = std::make_shared<Items>(*level.items);
        }
        level.items->written.merge(level.latest.written);
        level.items->meant.merge(level.latest.meant);
        level.latest = {};
    }
}

bool Distinct::read(uint8_t byte, bool marked) {
    const auto keep = [&] {
        if (distinct_levels_ > 0) text_ += char(byte);
    };
    if (quote_ != 0) {
        keep();
        if (escaped_) {
            escaped_ = false;
        } else if (byte == '\\' && quote_ == '"') {
            escaped_ = true;
        } else if (byte == quote_) {
            quote_ = 0;
            return end_item();
        }
        return true;
    }
    const bool closes = byte == ']' || byte == '}';
    if (scalar_ && (closes || byte == ',' || is_blank(byte)) && !end_item()) return false;
    if (byte == '"' || byte == kCallQuote) {
        begin_value(byte);
        keep();
        quote_ = byte;
        return true;
    }
    if (byte == '[' || byte == '{') {
        begin_value(byte);
        if (byte == '[' && marked) ++distinct_levels_;
        levels_.push_back({.array = byte == '[', .distinct = byte == '[' && marked, .items = nullptr, .latest = {}});
        keep();
        return true;
    }
    if (closes) {
        keep();
        if (levels_.empty()) return true;
        const bool distinct = levels_.back().distinct;
        levels_.pop_back();
        if (distinct) --distinct_levels_;
        const bool fine = end_item();
        if (distinct_levels_ == 0) text_.clear();
        return fine;
    }
    if (byte != ',' && byte != ':' && !is_blank(byte)) {
        const bool in_array = !levels_.empty() && levels_.back().array;
        if (in_array && !levels_.back().in_item) begin_value(byte);
    }
    keep();
    return true;
}

bool Distinct::watching() const {
    return std::ranges::any_of(levels_, [](const Level& level) { return level.distinct && !level.empty(); });
}

bool Distinct::within_new_string() const {
    if (quote_ == 0 || levels_.empty()) return false;
    const Level& level = levels_.back();
    return !level.distinct || !level.in_item || !level.begins(std::string_view(text_).substr(level.item_start));
}

bool Distinct::within_item_string() const {
    return quote_ != 0 && !levels_.empty() && levels_.back().distinct && levels_.back().in_item;
}

bool Distinct::goes_on_with(std::string_view text) const {
    const Level& level = levels_.back();
    return level.begins(text_.substr(level.item_start).append(text));
}

bool Distinct::can_differ(Recogniser& recogniser, Recogniser::State state, uint64_t& steps) const {
    if (levels_.empty() || !levels_.back().distinct || levels_.back().empty()) return true;
    const Level& level = levels_.back();
    // Between an item and the comma there is nothing to decide yet.
    const size_t last = text_.find_last_not_of(" \n\t\r");
    if (!level.in_item && (last == std::string::npos || text_[last] != ',')) return true;
    std::string partial = level.in_item ? text_.substr(level.item_start) : "";
    if (!level.begins(partial)) return true;
    return differs(recogniser, state, partial, steps, steps + kMaxLookAhead);
}

// Along the items there are, until some byte leaves all of them.
bool Distinct::differs(Recogniser& recogniser, Recogniser::State state, std::string& partial, uint64_t& steps,
                       uint64_t until) const {
    const Level& level = levels_.back();
    const bool whole = level.has(partial);
    for (uint32_t byte = 0; byte < 256; ++byte) {
        const Recogniser::State next = recogniser.next(state, uint8_t(byte));
        if (next == Recogniser::kDead) continue;
        if (++steps > until) return true;
        const bool blank = is_blank(uint8_t(byte));
        if (partial.empty() && blank) {
            if (differs(recogniser, next, partial, steps, until)) return true;
            continue;
        }
        if (whole && (blank || byte == ',' || byte == ']' || byte == '}')) continue;
        partial += char(byte);
        bool out = !level.begins(partial);
        if (!out) {
            const bool ended = level.has(partial) && (byte == '"' || byte == kCallQuote || byte == ']' || byte == '}');
            out = !ended && differs(recogniser, next, partial, steps, until);
        }
        partial.pop_back();
        if (out) return true;
    }
    return false;
}

}  // namespace lapidary::grammar
