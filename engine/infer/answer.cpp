#include "infer/answer.h"

namespace lapidary::infer {

std::string TextAnswer::finish() {
    std::string text = stops_.feed(decoder_.finish());
    return text + stops_.finish();
}

std::string TextAnswer::draft(std::span<const int32_t> tokens, std::vector<size_t>& ends) const {
    TextAnswer copy = *this;
    std::string text;
    for (const int32_t token : tokens) {
        text += copy.feed(token);
        ends.push_back(text.size());
    }
    return text;
}

std::string ChatAnswer::draft(std::span<const int32_t> tokens, std::vector<size_t>& ends) const {
    chat::ParserOptions options = options_;
    options.start = parser_.in_content() ? chat::PromptEnd::answer : chat::PromptEnd::thought;
    ChatAnswer next(tokenizer_, std::move(options), {}, nullptr);
    next.stops_ = stops_;
    for (const int32_t token : tokens) {
        next.feed(token);
        ends.push_back(next.content_.size());
    }
    return std::move(next.content_);
}

ChatAnswer::ChatAnswer(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, chat::ParserOptions options,
                       std::vector<std::string> stops, OnEvent on_event)
    : tokenizer_(tokenizer),
      decoder_(std::move(tokenizer)),
      options_(std::move(options)),
      parser_(options_),
      stops_(std::move(stops)),
      on_event_(std::move(on_event)) {}

void ChatAnswer::feed(int32_t token) {
    if (!tokenizer_->is_marker(token)) return take(parser_.feed_text(decoder_.feed(token)));
    // A marker token ends whatever character was under way.
    take(parser_.feed_text(decoder_.finish()));
    take(parser_.feed_special(tokenizer_->text(token)));
}

void ChatAnswer::finish() {
    take(parser_.feed_text(decoder_.finish()));
    take(parser_.finish());
    if (!stops_.stopped()) tell({.kind = chat::EventKind::content, .text = stops_.finish()});
}

void ChatAnswer::take(const std::vector<chat::Event>& events) {
    for (const chat::Event& event : events) {
        if (stops_.stopped()) return;
        if (event.kind == chat::EventKind::content) {
            tell({.kind = chat::EventKind::content, .text = stops_.feed(event.text)});
        } else {
            tell(event);
        }
    }
}

void ChatAnswer::tell(const chat::Event& event) {
    const bool is_text = event.kind == chat::EventKind::content || event.kind == chat::EventKind::reasoning;
    if (is_text && event.text.empty()) return;
    if (event.kind == chat::EventKind::content) content_ += event.text;
    if (event.kind == chat::EventKind::reasoning) reasoning_ += event.text;
    if (event.kind == chat::EventKind::tool_call) tool_calls_.push_back(event);
    if (event.kind == chat::EventKind::arguments && !tool_calls_.empty()) {
        tool_calls_.back().arguments += event.arguments;
    }
    if (on_event_ && !silent_) on_event_(event);
}

}  // namespace lapidary::infer
