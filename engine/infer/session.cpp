#include "infer/session.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/edition.h"
#include "infer/canvas_settling.h"

namespace lapidary::infer {
namespace {
// Prompt tokens between two reports of progress: a block of the GPU's.
constexpr size_t kPromptStep = 512;

// The first soft part that ends behind `at`.
const SoftPart* part_behind(const Prompt& prompt, size_t at) {
    const auto it =
        std::ranges::find_if(prompt.soft, [&](const SoftPart& part) { return part.begin + part.count > at; });
    return it == prompt.soft.end() ? nullptr : &*it;
}
}  // namespace

int32_t soft_key(uint64_t digest, uint32_t i) {
    Checksum sum;
    sum.add(digest);
    sum.add(uint64_t{i});
    return -1 - int32_t(sum.value() >> 33);
}

void Session::reset() {
    runner_->truncate(0);
    tokens_.clear();
}

Task<Status> Session::use(std::vector<lora::Active> adapters) {
    // One that adds nothing does not take part.
    std::erase_if(adapters, [](const lora::Active& one) { return one.scale == 0; });
    if (adapters == adapters_) co_return Status{};
    reset();
    adapters_.clear();
    CO_TRY(co_await runner_->set_adapters(adapters));
    adapters_ = std::move(adapters);
    co_return Status{};
}

Task<Status> Session::restore(std::vector<int32_t> tokens, GetState get) {
    reset();
    CO_TRY(co_await runner_->load_state(tokens, std::move(get)));
    tokens_ = std::move(tokens);
    co_return Status{};
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

Task<Result<std::vector<float>>> Session::append_piece(const Prompt& prompt, size_t at, size_t most,
                                                       LogitsWanted wanted, Breathe breathe) {
    const auto rest = std::span(prompt.tokens).subspan(at);
    const SoftPart* const part = part_behind(prompt, at);
    // Only the last piece's logits are wanted, unless all are.
    const auto wanted_of = [&](size_t count) {
        return count == rest.size() || wanted == LogitsWanted::all ? wanted : LogitsWanted::none;
    };
    if (part == nullptr || at < part->begin) {
        const size_t text = part == nullptr ? rest.size() : part->begin - at;
        const auto piece = rest.first(std::min(most, text));
        co_return co_await append(piece, wanted_of(piece.size()), std::move(breathe));
    }
    const SoftPart::Rows rows = CO_TRY(co_await part->rows(breathe));
    const size_t done = at - part->begin;
    const size_t count = part->count - done;
    const size_t width = rows->size() / part->count;
    const SoftTokens soft{.rows = std::span(*rows).subspan(done * width), .sight = part->sight};
    auto logits = CO_TRY(co_await runner_->run_soft(soft, wanted_of(count), std::move(breathe)));
    tokens_.insert(tokens_.end(), rest.begin(), rest.begin() + ptrdiff_t(count));
    co_return logits;
}

void Session::keep_common(const Prompt& prompt) {
    runner_->truncate(common_prefix(prompt.tokens));
    const SoftPart* const cut = part_behind(prompt, runner_->position());
    // The runner may have had to forget more than it was asked to.
    if (cut != nullptr && cut->sight != Sight::causal) runner_->truncate(cut->begin);
    tokens_.resize(runner_->position());
}

Task<Result<std::vector<float>>> Session::prefill(const Prompt& prompt, LogitsWanted wanted,
                                                  const GenerateListener& listener, Breathe breathe) {
    const size_t size = prompt.tokens.size();
    std::vector<float> logits;
    while (tokens_.size() < size) {
        logits = CO_TRY(co_await append_piece(prompt, tokens_.size(), kPromptStep, wanted, breathe));
        if (listener.on_prompt) listener.on_prompt(uint32_t(tokens_.size()), uint32_t(size));
    }
    co_return logits;
}

Task<Result<GenerateStats>> Session::generate(Prompt prompt, GenerateOptions options, GenerateListener listener,
                                              Breathe breathe) {
    const auto size = uint32_t(prompt.tokens.size());
    if (size == 0) co_return fail(Code::invalid_argument, "the prompt is empty");
    if (size >= runner_->context()) {
        co_return fail(Code::limit, "the prompt has {} tokens and the context holds {}: there is no room for an answer",
                       size, runner_->context());
    }
    CO_TRY(sample::check(options.sampling, runner_->vocabulary()));
    GenerateStats stats;
    const uint32_t answered_before = std::min(options.answered, size);
    stats.prompt_tokens = size - answered_before;
    stats.completion_tokens = answered_before;
    if (options.max_tokens > 0 && answered_before >= options.max_tokens) {
        stats.finish = Finish::length;
        co_return stats;
    }
    const double started = clock_();
    keep_common(prompt);
    stats.cached_tokens = runner_->position();
    // A runner that can choose tokens does, unless someone wants to see the choice.
    const bool streams = !listener.on_score && runner_->can_stream(options.sampling);
    CanvasRunner* const canvas = has_everything() ? runner_->canvas() : nullptr;
    if (canvas != nullptr && size + canvas->length() > runner_->context()) {
        co_return fail(Code::limit,
                       "the prompt has {} tokens and the context holds {}: there is no room for a canvas of {}", size,
                       runner_->context(), canvas->length());
    }
    const auto wanted = canvas != nullptr ? LogitsWanted::none : streams ? LogitsWanted::kept : LogitsWanted::last;
    std::vector<float> logits = CO_TRY(co_await prefill(prompt, wanted, listener, breathe));
    stats.prompt_ms = clock_() - started;
    const double answered = clock_();
    const auto finish = [&](Finish why) {
        stats.finish = why;
        stats.completion_ms = clock_() - answered;
        return stats;
    };
    if (has_everything() && canvas != nullptr)
        co_return finish(CO_TRY(co_await write_canvases(*canvas, options, listener, stats, breathe)));
    if (streams) {
        const auto why = CO_TRY(co_await take_stream(options, listener, stats, breathe));
        if (why) co_return finish(*why);
        // The token that could not be chosen is chosen here, from the logits of the one before it.
        const int32_t before[] = {tokens_.back()};
        tokens_.pop_back();
        runner_->truncate(uint32_t(tokens_.size()));
        if (runner_->position() != tokens_.size()) co_return fail(Code::internal, "the context was lost");
        logits = CO_TRY(co_await append(before, LogitsWanted::last, breathe));
    }
    co_return finish(CO_TRY(co_await sample_answer(std::move(logits), options, listener, stats, breathe)));
}

std::optional<Finish> Session::end_of(int32_t token, const GenerateOptions& options, const GenerateListener& listener,
                                      GenerateStats& stats) {
    ++stats.completion_tokens;
    if (listener.is_end && listener.is_end(token)) return Finish::stop;
    if (listener.on_token && !listener.on_token(token)) return Finish::stop;
    if (stats.completion_tokens == options.max_tokens) return Finish::length;
    return std::nullopt;
}

Task<Result<std::optional<Finish>>> Session::take_stream(const GenerateOptions& options,
                                                         const GenerateListener& listener, GenerateStats& stats,
                                                         Breathe breathe) {
    const uint32_t room = runner_->context() - runner_->position() + 1;
    const uint32_t wanted = options.max_tokens > 0 ? options.max_tokens - stats.completion_tokens : room;
    const bool limited = bool(listener.allowed);
    CO_TRY(co_await runner_->begin_stream(options.sampling, std::min(room, wanted), limited));
    std::vector<int32_t> taken;
    std::optional<Finish> why;
    Status status;
    while (!why && status) {
        if (taken.size() == room) {
            why = Finish::length;
            break;
        }
        const auto allowed = limited ? listener.allowed() : Result<sample::Allowed>{};
        auto token = allowed ? co_await runner_->next_token(*allowed, {}) : std::unexpected(allowed.error());
        if (!token) {
            status = std::unexpected(std::move(token).error());
            break;
        }
        if (!*token) break;
        taken.push_back(**token);
        why = end_of(**token, options, listener, stats);
        if (!why && breathe) status = co_await breathe();
    }
    // Also after an error: the runner must be as if nothing had been chosen beyond what was taken.
    Status ended = co_await runner_->end_stream(uint32_t(taken.size()));
    tokens_.insert(tokens_.end(), taken.begin(), taken.end());
    tokens_.resize(std::min<size_t>(tokens_.size(), runner_->position()));
    CO_TRY(std::move(status));
    CO_TRY(std::move(ended));
    co_return why;
}

Task<Result<Finish>> Session::write_canvases(CanvasRunner& canvas, const GenerateOptions& options,
                                             const GenerateListener& listener, GenerateStats& stats, Breathe breathe) {
    const uint32_t length = canvas.length();
    while (runner_->context() - runner_->position() >= length) {
        const uint32_t position = runner_->position();
        const auto numbers = [&](uint32_t step) -> Result<CanvasNumbers> {
            return canvas_numbers(options.sampling.seed, position, step, length, runner_->vocabulary());
        };
        const auto noise = numbers(0)->noise;
        CanvasSettling settling{.settings = options.canvas, .start = {noise.begin(), noise.end()}, .numbers = numbers};
        if (listener.on_draft) {
            settling.view = CanvasView::draft;
            settling.on_step = [&](uint32_t step, const CanvasOutcome& outcome) {
                listener.on_draft({.tokens = outcome.argmax,
                                   .accept = outcome.accept,
                                   .step = step,
                                   .max_steps = options.canvas.max_steps});
            };
        }
        const SettledCanvas settled = CO_TRY(co_await settle_canvas(canvas, std::move(settling), breathe));
        ++stats.canvases;
        stats.canvas_steps += settled.steps;
        stats.margins.include(settled.margins);
        for (const int32_t token : settled.tokens) {
            if (const auto why = end_of(token, options, listener, stats)) co_return *why;
        }
        CO_TRY(co_await append(settled.tokens, LogitsWanted::none, breathe));
    }
    co_return Finish::length;
}

Task<Result<Finish>> Session::sample_answer(std::vector<float> logits, const GenerateOptions& options,
                                            const GenerateListener& listener, GenerateStats& stats, Breathe breathe) {
    sample::Sampler sampler(options.sampling);
    for (const int32_t token : tokens_) sampler.accept(std::max(token, kPadToken));
    while (true) {
        // The step is the position of the token, so a regenerated answer with the same seed is the same answer.
        const sample::Allowed allowed = listener.allowed ? CO_TRY(listener.allowed()) : sample::Allowed{};
        const auto choice = CO_TRY(sampler.sample(logits, uint32_t(tokens_.size()), allowed));
        const bool ends = listener.is_end && listener.is_end(choice.token);
        if (listener.on_score && !ends) listener.on_score(sample::score(logits, choice.token, options.top_logprobs));
        if (const auto why = end_of(choice.token, options, listener, stats)) co_return *why;
        if (runner_->position() == runner_->context()) co_return Finish::length;
        sampler.accept(choice.token);
        const int32_t next[] = {choice.token};
        logits = CO_TRY(co_await append(next, LogitsWanted::last, breathe));
        if (breathe) CO_TRY(co_await breathe());
    }
}

Task<Status> Session::logits(Prompt prompt, OnRow on_row, Breathe breathe, uint32_t at_once) {
    const size_t rows_at_once = std::clamp(at_once, 1u, kLogitRows);
    reset();
    const size_t vocabulary = runner_->vocabulary();
    while (tokens_.size() < prompt.tokens.size()) {
        const size_t at = tokens_.size();
        const auto rows = CO_TRY(co_await append_piece(prompt, at, rows_at_once, LogitsWanted::all, breathe));
        for (size_t i = 0; i < tokens_.size() - at; ++i) {
            const auto begin = rows.begin() + ptrdiff_t(i * vocabulary);
            CO_TRY(co_await on_row(uint32_t(at + i), std::vector<float>(begin, begin + ptrdiff_t(vocabulary))));
        }
    }
    co_return Status{};
}

Task<Status> Session::embed(std::span<const std::vector<int32_t>> texts, Runner::OnEmbedded take, Breathe breathe) {
    for (const std::vector<int32_t>& text : texts) {
        if (text.empty()) co_return fail(Code::invalid_argument, "there are no tokens");
    }
    reset();
    co_return co_await runner_->embed(texts, std::move(take), std::move(breathe));
}

}  // namespace lapidary::infer
