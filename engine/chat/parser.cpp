#include "chat/parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/edition.h"
#include "chat/call_syntax.h"
#include "chat/markers.h"
#include "chat/render_gemma3.h"
#include "chat/text.h"

namespace lapidary::chat {
namespace {

// The markers that mean something in an output. None is a prefix of another.
constexpr std::array kMarkers = {kChannelOpen,   kChannelClose, kCallOpen,  kCallClose, kResponseOpen,
                                 kResponseClose, kTurnOpen,     kTurnClose, kEos,       kQuote};

// The marker at the start of `text`, or an empty text.
std::string_view marker_at(std::string_view text) {
    for (const std::string_view marker : kMarkers) {
        if (text.starts_with(marker)) return marker;
    }
    return {};
}

bool may_become_marker(std::string_view text) {
    return std::ranges::any_of(kMarkers, [&](std::string_view marker) { return marker.starts_with(text); });
}

}  // namespace

OutputParser::OutputParser(ParserOptions options) : options_(std::move(options)) {
    if (options_.start == PromptEnd::thought) state_ = State::thought;
    const bool prompted = has_everything() && options_.turns == Turns::gemma3;
    if (prompted && !options_.tools.empty()) state_ = State::perhaps_calls;
}

std::vector<Event> OutputParser::feed(std::string_view chunk) {
    std::string joined;
    if (!partial_.empty()) {
        joined = std::exchange(partial_, {});
        joined += chunk;
        chunk = joined;
    }
    // All markers start with '<' and have no other, so each '<' is looked at once.
    while (!chunk.empty()) {
        const size_t start = chunk.find('<');
        text(chunk.substr(0, start));
        if (start == std::string_view::npos) break;
        chunk.remove_prefix(start);
        if (const std::string_view found = marker_at(chunk); !found.empty()) {
            marker(found);
            chunk.remove_prefix(found.size());
        } else if (may_become_marker(chunk)) {
            partial_ = chunk;
            break;
        } else {
            text(chunk.substr(0, 1));
            chunk.remove_prefix(1);
        }
    }
    return take();
}

std::vector<Event> OutputParser::feed_text(std::string_view chunk) {
    text(chunk);
    return take();
}

std::vector<Event> OutputParser::feed_special(std::string_view special) {
    if (has_everything()) special = as_gemma4_marker(special);
    if (std::ranges::find(kMarkers, special) != kMarkers.end()) {
        marker(special);
    } else {
        text(special);
    }
    return take();
}

std::vector<Event> OutputParser::finish() {
    text(std::exchange(partial_, {}));
    if (state_ == State::call) end_call(false);
    if (has_everything() && state_ == State::perhaps_calls) end_perhaps_calls();
    // Blanks at the end of an answer are the model's; at the end of a thought they are layout.
    if (state_ == State::content) emit(EventKind::content, blanks_);
    blanks_.clear();
    return take();
}

// Ordinary text in the state we are in.
void OutputParser::text(std::string_view text) {
    if (text.empty()) return;
    if (state_ == State::call) {
        call_ += text;
        stream_.text(text, options_.tools);
        return tell_call();
    }
    if (has_everything() && state_ == State::perhaps_calls) {
        call_ += text;
        if (may_be_prompted_calls(call_)) return;
        state_ = State::content;
        const std::string held = std::exchange(call_, {});
        return emit_keeping_blanks(EventKind::content, held);
    }
    if (state_ == State::channel_name) {
        // Until a letter differs this may be the name "thought", which nobody should see.
        while (!text.empty() && name_.size() < kThoughtName.size() && text[0] == kThoughtName[name_.size()]) {
            name_ += text[0];
            text.remove_prefix(1);
        }
        if (name_.size() < kThoughtName.size() && text.empty()) return;
        leave_channel_name();
    }
    emit_keeping_blanks(state_ == State::thought ? EventKind::reasoning : EventKind::content, text);
}

// The name is complete, or turned out to be text.
void OutputParser::leave_channel_name() {
    state_ = State::thought;
    const std::string name = std::exchange(name_, {});
    if (name != kThoughtName) emit_keeping_blanks(EventKind::reasoning, name);
}

void OutputParser::marker(std::string_view marker) {
    switch (state_) {
        case State::perhaps_calls: return;
        case State::content:
            if (marker == kChannelOpen) {
                open_thought();
            } else if (marker == kCallOpen) {
                blanks_.clear();
                state_ = State::call;
            } else if (marker == kQuote) {
                text(marker);
            }
            return;  // closers without an opener, and ends of turns: not for the reader's eyes

        case State::channel_name:
        case State::thought:
            if (marker == kChannelClose) {
                name_.clear();
                blanks_.clear();
                state_ = State::content;
                skip_blanks_ = true;
            } else if (marker == kChannelOpen) {
                open_thought();  // a second opening, as after a prompt that has already opened the thought
            } else if (marker != kTurnClose && marker != kEos) {
                text(marker);
            }
            return;

        case State::call: {
            const bool in_string = quotes_.size() % 2 == 1;
            const bool next_begins =
                marker == kCallOpen || marker == kResponseOpen || marker == kTurnClose || marker == kEos;
            if (marker == kCallClose || (next_begins && !in_string)) {
                end_call(true);
                if (marker == kCallOpen) state_ = State::call;
                return;
            }
            if (marker != kQuote) return text(marker);
            quotes_.push_back(call_.size());
            call_ += marker;
            stream_.quote();
            return tell_call();
        }
    }
}

void OutputParser::open_thought() {
    blanks_.clear();
    name_.clear();
    state_ = State::channel_name;
    skip_blanks_ = false;
}

Event& OutputParser::begin(EventKind kind) {
    Event& event = events_.emplace_back();
    event.kind = kind;
    return event;
}

Event& OutputParser::begin_call(const std::string& name) {
    Event& event = begin(EventKind::tool_call);
    event.index = calls_++;
    event.id = options_.id_prefix + std::to_string(event.index);
    event.name = name;
    return event;
}

// What is new of the call under way. With its name its first brace is known, so something is told then.
void OutputParser::tell_call() {
    if (stream_.name().empty()) return;
    if (told_ == 0) begin_call(stream_.name());
    tell_arguments(stream_.arguments());
}

// What is new in them.
void OutputParser::tell_arguments(std::string_view arguments) {
    if (arguments.size() == told_) return;
    if (events_.empty() ||
        (events_.back().kind != EventKind::tool_call && events_.back().kind != EventKind::arguments)) {
        begin(EventKind::arguments).index = calls_ - 1;
    }
    events_.back().arguments += arguments.substr(told_);
    told_ = arguments.size();
}

void OutputParser::end_call(bool finished) {
    auto call = parse_call(call_, quotes_, {.finished = finished, .tools = options_.tools});
    if (call && !stream_.whole()) {
        const std::string arguments = json_text(call->arguments);
        if (arguments.starts_with(stream_.arguments())) {
            tell_arguments(arguments);
        } else {
            call = fail(Code::invalid_argument, "the call says two things");
        }
    }
    if (!call && !trim(call_).empty()) {
        cut_ = !finished;
        if (finished || told_ == 0) {
            Event& event = begin(EventKind::invalid_tool_call);
            event.text = call_;
            event.error = finished ? std::move(call.error().message) : "the output ended inside a call";
        }
    }
    call_.clear();
    quotes_.clear();
    stream_ = {};
    told_ = 0;
    state_ = State::content;
    skip_blanks_ = true;
}

// What was held back is calls, and nothing else, or an answer that began like one.
void OutputParser::end_perhaps_calls() {
    const std::string written = std::exchange(call_, {});
    state_ = State::content;
    const std::vector<ToolCall> calls = prompted_calls(written, options_.tools);
    for (const ToolCall& call : calls) begin_call(call.name).arguments = json_text(call.arguments);
    if (calls.empty()) emit_keeping_blanks(EventKind::content, written);
}

// Emits all but the white space at the end, which waits for what follows.
void OutputParser::emit_keeping_blanks(EventKind kind, std::string_view text) {
    if (skip_blanks_) {
        while (!text.empty() && is_blank(text[0])) text.remove_prefix(1);
        if (text.empty()) return;
        skip_blanks_ = false;
    }
    size_t end = text.size();
    while (end > 0 && is_blank(text[end - 1])) --end;
    if (end > 0) {
        emit(kind, std::exchange(blanks_, {}));
        emit(kind, text.substr(0, end));
    }
    blanks_ += text.substr(end);
}

void OutputParser::emit(EventKind kind, std::string_view text) {
    if (text.empty() || (kind == EventKind::reasoning && !options_.thinking)) return;
    if (events_.empty() || events_.back().kind != kind) begin(kind);
    events_.back().text += text;
}

std::vector<Event> OutputParser::take() {
    return std::exchange(events_, {});
}

}  // namespace lapidary::chat
