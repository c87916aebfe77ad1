#include "chat/call_stream.h"

#include "chat/call_syntax.h"
#include "chat/text.h"

namespace lapidary::chat {

void CallStream::text(std::string_view text, const std::vector<Tool>& tools) {
    for (const char c : text) step(c, tools);
    if (state_ != State::string) return;
    // All of a string but what a repair may take back, and the last character, which may have more bytes to come.
    size_t end = word_.size();
    while (end > 0 && (is_blank(word_[end - 1]) || is_closer(word_[end - 1]))) --end;
    while (end > 0 && (word_[end - 1] & 0xC0) == 0x80) --end;
    if (end > 0 && (word_[end - 1] & 0x80) != 0) --end;
    put_string(end);
}

void CallStream::quote() {
    const bool is_key = state_ == State::item && open_.back() == '{';
    if (state_ == State::string) {
        put_string(word_.size());
        out_ += is_key_ ? "\":" : "\"";
        state_ = is_key_ ? State::colon : State::after;
    } else if (state_ == State::value || state_ == State::item) {
        put("\"");
        is_key_ = is_key;
        is_text_ = false;
        state_ = State::string;
    } else {
        state_ = State::silent;
    }
}

void CallStream::step(char c, const std::vector<Tool>& tools) {
    switch (state_) {
        case State::name: {
            if (c != '{') {
                word_ += c;
                return;
            }
            const std::string_view written = trim(word_);
            const std::string_view name =
                written.starts_with(kCallPrefix) ? trim(written.substr(kCallPrefix.size())) : "";
            state_ = State::silent;
            if (!is_tool_name(name)) return;
            name_ = name;
            for (const Tool& tool : tools) {
                if (tool.name == name_) properties_ = &member(tool.parameters, "properties");
            }
            word_.clear();
            return begin_value(c);
        }
        case State::string: word_ += c; return;
        case State::key:
            if (c == '}') state_ = State::silent;
            if (c != ':') {
                word_ += c;
                return;
            }
            while (is_blank(word_.back())) word_.pop_back();
            is_text_ = open_.size() == 1 && properties_ != nullptr && is_text(*properties_, word_);
            put("\"");
            put_string(word_.size());
            out_ += "\":";
            state_ = State::value;
            return;
        case State::bare:
            if (c != ',' && !is_closer(c) && !is_blank(c)) {
                word_ += c;
                return;
            }
            state_ = State::after;
            break;
        default: break;
    }
    if (is_blank(c)) return;
    switch (state_) {
        case State::item: return begin_item(c);
        case State::colon: state_ = c == ':' ? State::value : State::silent; return;
        case State::value: return begin_value(c);
        case State::after: return end_value(c);
        default: state_ = State::silent;
    }
}

void CallStream::begin_item(char c) {
    if (is_closer(c)) return end_value(c);
    if (open_.back() == '[') return begin_value(c);
    word_ = c;
    state_ = c == ':' || c == '"' || c == '\'' ? State::silent : State::key;
}

void CallStream::begin_value(char c) {
    if (c == '{' || c == '[') {
        put({&c, 1});
        open_ += c;
        state_ = open_.size() > kMaxCallDepth ? State::silent : State::item;
    } else {
        word_ = c;
        state_ = c == '"' || c == '\'' || is_closer(c) || is_text_ ? State::silent : State::bare;
    }
    is_text_ = false;
}

// A comma or a closer.
void CallStream::end_value(char c) {
    state_ = State::silent;
    if (!word_.empty()) {
        const std::string value = bare_text(word_);
        if (value.empty()) return;
        put(value);
        word_.clear();
    }
    if (c == ',') {
        comma_ = true;
        state_ = State::item;
    } else if (c == (open_.back() == '{' ? '}' : ']')) {
        comma_ = false;
        put({&c, 1});
        open_.pop_back();
        state_ = open_.empty() ? State::end : State::after;
    }
}

void CallStream::put(std::string_view json) {
    if (comma_) out_ += ',';
    comma_ = false;
    out_ += json;
}

void CallStream::put_string(size_t end) {
    const std::string json = json_text(word_.substr(0, end));
    out_.append(json, 1, json.size() - 2);
    word_.erase(0, end);
}

}  // namespace lapidary::chat
