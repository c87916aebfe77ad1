// From the stream of text a model writes to reasoning, content and tool calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/call_stream.h"
#include "chat/message.h"
#include "chat/render.h"

namespace lapidary::chat {

enum class EventKind : uint8_t {
    reasoning,          // `text` continues the thought
    content,            // `text` continues the answer
    tool_call,          // a call begins; `arguments` are the beginning of its own
    arguments,          // `arguments` continues those of the call with this index
    invalid_tool_call,  // `text` is what the model wrote as a call, and nobody could read; `error` says why
};

struct Event {
    EventKind kind = EventKind::content;
    std::string text;
    // Of a call:
    size_t index = 0;  // counts the readable calls of this output from 0
    std::string id;
    std::string name;
    std::string arguments;  // of a JSON object, as text
    std::string error;
    bool operator==(const Event&) const = default;
};

struct ParserOptions {
    Turns turns = Turns::gemma4;
    PromptEnd start = PromptEnd::answer;  // what the prompt ended in
    bool thinking = false;                // reasoning was asked for; otherwise it is dropped
    std::vector<Tool> tools;              // help to read calls with mistakes in them
    std::string id_prefix = "call_";      // the id of a call is this and its index
};

// Feed it the output as it comes, in pieces of any size; the events do not depend on where the pieces were cut,
// except that neighbouring deltas of one kind may come joined or apart.
//
// Either feed(): markers are texts, and are recognised wherever they are spelled. Or, when the tokens are known,
// feed_text() for ordinary tokens and feed_special() for marker tokens: then an answer that talks about
// "<|tool_call>" is an answer and not a call. Use one way for one output.
class OutputParser {
  public:
    explicit OutputParser(ParserOptions options);

    std::vector<Event> feed(std::string_view text);
    std::vector<Event> feed_text(std::string_view text);
    std::vector<Event> feed_special(std::string_view marker);
    // The output has ended: what was held back comes out.
    std::vector<Event> finish();
    // The output ended inside a call, of which something is missing.
    [[nodiscard]] bool cut() const { return cut_; }

    // Ordinary text that comes now belongs to the answer: not to a thought, not to a call.
    [[nodiscard]] bool in_content() const { return state_ == State::content || state_ == State::perhaps_calls; }

  private:
    enum class State : uint8_t { content, channel_name, thought, call, perhaps_calls };

    void text(std::string_view text);
    void marker(std::string_view marker);
    void emit(EventKind kind, std::string_view text);
    void emit_keeping_blanks(EventKind kind, std::string_view text);
    void open_thought();
    void leave_channel_name();
    Event& begin(EventKind kind);
    Event& begin_call(const std::string& name);
    void tell_call();
    void tell_arguments(std::string_view json);
    void end_call(bool finished);
    void end_perhaps_calls();
    std::vector<Event> take();

    ParserOptions options_;
    State state_ = State::content;
    bool skip_blanks_ = false;  // after a thought or a call: white space here belongs to nobody
    std::string partial_;       // feed(): the beginning of what may become a marker
    std::string blanks_;        // white space that is dropped if a marker follows
    std::string name_;          // channel_name: what has been seen of it
    std::string call_;
    std::vector<size_t> quotes_;  // where <|"|> tokens stand in call_
    CallStream stream_;           // the same, as it is told
    size_t told_ = 0;             // of its arguments; 0: nothing at all
    size_t calls_ = 0;
    bool cut_ = false;
    std::vector<Event> events_;
};

}  // namespace lapidary::chat
