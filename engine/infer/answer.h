// From the tokens of an answer to what a reader sees: text, or reasoning, content and tool calls.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chat/parser.h"
#include "tokenizer/stop_matcher.h"
#include "tokenizer/stream_decoder.h"

namespace lapidary::infer {

// A continuation of plain text.
class TextAnswer {
  public:
    TextAnswer(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, std::vector<std::string> stops)
        : decoder_(std::move(tokenizer)), stops_(std::move(stops)) {}

    // Text that can be shown now. Nothing more comes once stopped().
    std::string feed(int32_t token) { return stops_.feed(decoder_.feed(token)); }
    std::string finish();
    [[nodiscard]] bool stopped() const { return stops_.stopped(); }
    // What these tokens would add if they came next; where what each adds ends, in bytes.
    [[nodiscard]] std::string draft(std::span<const int32_t> tokens, std::vector<size_t>& ends) const;

  private:
    tokenizer::StreamDecoder decoder_;
    tokenizer::StopMatcher stops_;
};

// A turn of a conversation, as a message and as the events that build it up.
class ChatAnswer {
  public:
    using OnEvent = std::function<void(const chat::Event&)>;

    // `stops` apply to the content, not to thoughts or calls.
    ChatAnswer(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, chat::ParserOptions options,
               std::vector<std::string> stops, OnEvent on_event);

    void feed(int32_t token);
    void finish();
    [[nodiscard]] bool stopped() const { return stops_.stopped(); }
    [[nodiscard]] std::optional<size_t> stopped_by() const { return stops_.matched(); }
    // The last call is not complete.
    [[nodiscard]] bool cut() const { return parser_.cut(); }
    // Whether this token, if it came next, would be text of the content.
    [[nodiscard]] bool is_content(int32_t token) const { return !tokenizer_->is_marker(token) && parser_.in_content(); }
    // Until further notice nobody is told; the message grows all the same.
    void set_silent(bool silent) { silent_ = silent; }

    // The same, of the content; what the tokens would do to thoughts and calls is not told.
    [[nodiscard]] std::string draft(std::span<const int32_t> tokens, std::vector<size_t>& ends) const;

    // What has been told so far.
    [[nodiscard]] const std::string& content() const { return content_; }
    [[nodiscard]] const std::string& reasoning() const { return reasoning_; }
    [[nodiscard]] const std::vector<chat::Event>& tool_calls() const { return tool_calls_; }

  private:
    void take(const std::vector<chat::Event>& events);
    void tell(const chat::Event& event);

    std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
    tokenizer::StreamDecoder decoder_;
    chat::ParserOptions options_;
    chat::OutputParser parser_;
    tokenizer::StopMatcher stops_;
    OnEvent on_event_;
    bool silent_ = false;
    std::string content_;
    std::string reasoning_;
    std::vector<chat::Event> tool_calls_;
};

}  // namespace lapidary::infer
