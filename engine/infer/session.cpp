#include "infer/session.h"

#include <algorithm>

namespace lapidary::infer {
namespace {
// Prompt tokens between two reports of progress: a block of the GPU's.
constexpr size_t kPromptStep = 512;
}  // namespace

void Session::reset() {
    runner_->truncate(0);
    tokens_.clear();
}

uint32_t Session::common_prefix(std::span<const int32_t> prompt) const {
    const auto [mine, other] = std::ranges::mismatch(tokens_, prompt);
    return uint32_t(std::min(size_t(mine - tokens_.begin()), prompt.size() - 1));
}

Task<Result<std::vector<float>>> Session::append(std::span<const int32_t> tokens, LogitsWanted wanted,
                                                 Breathe breathe) {
    auto logits = CO_TRY(co_await runner_->run(tokens, wanted, std::move(breathe)));
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    co_return logits;
}

Task<Result<std::vector<float>>> Session::prefill(std::span<const int32_t> prompt, const GenerateListener& listener,
                                                  Breathe breathe) {
    const uint32_t known = runner_->position();
    tokens_.resize(known);
    std::vector<float> logits;
    for (size_t at = known; at < prompt.size(); at += kPromptStep) {
        const auto part = prompt.subspan(at, std::min(kPromptStep, prompt.size() - at));
        const bool last = at + part.size() == prompt.size();
        logits = CO_TRY(co_await append(part, last ? LogitsWanted::last : LogitsWanted::none, breathe));
        if (listener.on_prompt) listener.on_prompt(uint32_t(at + part.size()), uint32_t(prompt.size()));
    }
    co_return logits;
}

Task<Result<GenerateStats>> Session::generate(std::vector<int32_t> prompt, GenerateOptions options,
                                              GenerateListener listener, Breathe breathe) {
    if (prompt.empty()) co_return fail(Code::invalid_argument, "the prompt is empty");
    if (prompt.size() >= runner_->context()) {
        co_return fail(Code::limit, "the prompt has {} tokens and the context holds {}: there is no room for an answer",
                       prompt.size(), runner_->context());
    }
    CO_TRY(sample::check(options.sampling, runner_->vocabulary()));
    GenerateStats stats;
    const uint32_t answered_before = std::min(options.answered, uint32_t(prompt.size()));
    stats.prompt_tokens = uint32_t(prompt.size()) - answered_before;
    stats.completion_tokens = answered_before;
    if (options.max_tokens > 0 && answered_before >= options.max_tokens) {
        stats.finish = Finish::length;
        co_return stats;
    }
    const double started = clock_();
    runner_->truncate(common_prefix(prompt));
    stats.cached_tokens = runner_->position();
    std::vector<float> logits = CO_TRY(co_await prefill(prompt, listener, breathe));
    stats.prompt_ms = clock_() - started;

    sample::Sampler sampler(options.sampling);
    for (const int32_t token : prompt) sampler.accept(token);
    const double answered = clock_();
    const auto finish = [&](Finish why) {
        stats.finish = why;
        stats.completion_ms = clock_() - answered;
        return stats;
    };
    while (true) {
        // The step is the position of the token, so a regenerated answer with the same seed is the same answer.
        const sample::Allowed allowed = listener.allowed ? CO_TRY(listener.allowed()) : sample::Allowed{};
        const auto choice = CO_TRY(sampler.sample(logits, uint32_t(tokens_.size()), allowed));
        ++stats.completion_tokens;
        if (listener.is_end && listener.is_end(choice.token)) co_return finish(Finish::stop);
        if (listener.on_score) listener.on_score(sample::score(logits, choice.token, options.top_logprobs));
        if (listener.on_token && !listener.on_token(choice.token)) co_return finish(Finish::stop);
        if (stats.completion_tokens == options.max_tokens) co_return finish(Finish::length);
        if (runner_->position() == runner_->context()) co_return finish(Finish::length);
        sampler.accept(choice.token);
        const int32_t next[] = {choice.token};
        logits = CO_TRY(co_await append(next, LogitsWanted::last, breathe));
        if (breathe) CO_TRY(co_await breathe());
    }
}

Task<Status> Session::logits(std::vector<int32_t> tokens, OnRow on_row, Breathe breathe, uint32_t at_once) {
    const size_t rows_at_once = std::clamp(at_once, 1u, kLogitRows);
    reset();
    const size_t vocabulary = runner_->vocabulary();
    for (size_t at = 0; at < tokens.size(); at += rows_at_once) {
        const auto part = std::span<const int32_t>(tokens).subspan(at, std::min(rows_at_once, tokens.size() - at));
        const auto rows = CO_TRY(co_await append(part, LogitsWanted::all, breathe));
        for (size_t i = 0; i < part.size(); ++i) {
            const auto begin = rows.begin() + ptrdiff_t(i * vocabulary);
            CO_TRY(co_await on_row(uint32_t(at + i), std::vector<float>(begin, begin + ptrdiff_t(vocabulary))));
        }
    }
    co_return Status{};
}

Task<Result<std::vector<float>>> Session::embed(std::vector<int32_t> tokens, Breathe breathe) {
    if (tokens.empty()) co_return fail(Code::invalid_argument, "there are no tokens");
    reset();
    auto mean = co_await runner_->embed(tokens, std::move(breathe));
    // A runner that failed holds nothing; one that did not, holds these.
    if (mean) tokens_ = std::move(tokens);
    co_return mean;
}

}  // namespace lapidary::infer
