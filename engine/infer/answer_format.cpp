#include "infer/answer_format.h"

#include <algorithm>

#include "chat/markers.h"
#include "grammar/json_rules.h"
#include "infer/turns.h"

namespace lapidary::infer {

using grammar::set_bit;

AnswerFormat::AnswerFormat(const tokenizer::Tokenizer& tokenizer, std::shared_ptr<const grammar::TokenTexts> texts,
                           AnswerFormatOptions options)
    : options_(std::move(options)),
      texts_(std::move(texts)),
      channel_open_(find_marker(tokenizer, chat::kChannelOpen)),
      channel_close_(find_marker(tokenizer, chat::kChannelClose)),
      call_open_(find_marker(tokenizer, chat::kCallOpen)),
      call_close_(find_marker(tokenizer, chat::kCallClose)) {
    for (const uint32_t end : tokenizer.ends_of_generation()) ends_.push_back(int32_t(end));
    if (options_.content != nullptr) content_.emplace(options_.content, texts_);
    const auto quote = find_marker(tokenizer, chat::kQuote);
    if (options_.call != nullptr && quote && call_close_) {
        call_.emplace(options_.call, texts_,
                      grammar::Marks{.inside = {{*quote, std::string(grammar::kQuoteByte)}}, .ends = {*call_close_}});
    }
    if (options_.start == chat::PromptEnd::thought) {
        phase_ = Phase::thought;
        thought_ = true;
    }
    mask_.resize(texts_->mask_words());
}

void AnswerFormat::put(std::optional<int32_t> token) {
    if (token) set_bit(mask_, *token);
}

sample::Allowed AnswerFormat::allowed() {
    const auto all_but = [&](std::span<const int32_t> tokens) {
        std::ranges::fill(mask_, ~0u);
        for (const int32_t token : tokens) mask_[size_t(token) / 32] &= ~(1u << (uint32_t(token) % 32));
        return sample::Allowed(mask_);
    };
    switch (phase_) {
        case Phase::thought: return all_but(ends_);

        case Phase::start: {
            if (!content_ && options_.calls == Calls::possible) return {};
            std::ranges::fill(mask_, 0u);
            if (options_.calls != Calls::required) {
                if (content_) {
                    std::ranges::copy(content_->allowed(), mask_.begin());
                } else {
                    std::ranges::fill(mask_, ~0u);
                    if (call_open_) mask_[size_t(*call_open_) / 32] &= ~(1u << (uint32_t(*call_open_) % 32));
                }
            }
            if (options_.calls != Calls::forbidden) put(call_open_);
            if (options_.thoughts && !thought_) put(channel_open_);
            return mask_;
        }
        case Phase::content:
            if (content_) return content_->allowed();
            if (options_.calls == Calls::forbidden && call_open_) return all_but({&*call_open_, 1});
            return {};

        case Phase::call: return call_ ? call_->allowed() : sample::Allowed{};

        case Phase::after_call:
            std::ranges::fill(mask_, 0u);
            put(call_open_);
            for (const int32_t end : ends_) put(end);
            return mask_;
    }
    return {};
}

Status AnswerFormat::status() const {
    for (const auto* constraint : {&content_, &call_}) {
        if (*constraint) TRY((*constraint)->status());
    }
    return {};
}

Status AnswerFormat::accept(int32_t token) {
    const auto broken = [&]() -> Status {
        TRY(status());
        return fail(Code::internal, "the answer left the format it was given");
    };
    switch (phase_) {
        case Phase::thought:
            if (token == channel_close_) phase_ = Phase::start;
            return {};

        case Phase::start:
        case Phase::content:
            if (token == channel_open_ && (phase_ == Phase::start || !content_)) {
                phase_ = Phase::thought;
                thought_ = true;
                return {};
            }
            if (token == call_open_ && (phase_ == Phase::start || !content_)) {
                phase_ = Phase::call;
                if (call_) call_->restart();
                return {};
            }
            phase_ = Phase::content;
            if (content_ && !content_->accept(token)) return broken();
            return {};

        case Phase::call:
            if (token == call_close_) {
                phase_ = Phase::after_call;
            } else if (call_ && !call_->accept(token)) {
                return broken();
            }
            return {};

        case Phase::after_call:
            if (token != call_open_) return broken();
            phase_ = Phase::call;
            if (call_) call_->restart();
            return {};
    }
    return {};
}

}  // namespace lapidary::infer
