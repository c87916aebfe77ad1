// A call as it is written: its name as soon as that is known, and its arguments piece by piece, as JSON text.
//
// Reads what models are taught to write. Where they write something else it falls silent, and parse_call (call_syntax.h),
// which sees the whole, tells the rest: what was told is the beginning of what that makes of it, because nothing is told
// that a repair could take back (the closers behind a quote that was forgotten, a text without quotes).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/message.h"

namespace lapidary::chat {

class CallStream {
  public:
    // More of the text between <|tool_call> and <tool_call|>. A <|"|> token is told as such.
    void text(std::string_view text, const std::vector<Tool>& tools);
    void quote();

    // Empty until it is known.
    [[nodiscard]] const std::string& name() const { return name_; }
    // The arguments so far; nothing but blanks may follow when they are whole().
    [[nodiscard]] const std::string& arguments() const { return out_; }
    [[nodiscard]] bool whole() const { return state_ == State::end; }

  private:
    // `item` is what stands in a container: in an object a key. `after` is behind a value, `colon` behind a quoted key.
    enum class State : uint8_t { name, item, key, colon, value, string, bare, after, end, silent };

    void step(char c, const std::vector<Tool>& tools);
    void begin_item(char c);
    void begin_value(char c);
    void end_value(char c);
    void put(std::string_view json);
    void put_string(size_t end);

    State state_ = State::name;
    std::string name_;
    std::string out_;
    std::string word_;     // read and not told yet: of a name, a key, a string, or a value without quotes
    std::string open_;     // a bracket for each container
    bool comma_ = false;   // stands before the next item, if one comes
    bool is_key_ = false;  // the string is one
    const Json* properties_ = nullptr;
    bool is_text_ = false;  // the value is an argument whose schema says so
};

}  // namespace lapidary::chat
