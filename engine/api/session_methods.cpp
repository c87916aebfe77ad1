// session.*: a context to run a model in, and what can be asked of it.
#include <cstring>

#include "api/answer_events.h"
#include "api/api.h"
#include "api/token_blob.h"
#include "infer/gpu_runner.h"
#include "infer/perplexity.h"
#include "model/memory.h"
#include "reference/forward.h"

namespace lapidary::api {
namespace {

constexpr uint32_t kDefaultContext = 4096;
constexpr uint32_t kDefaultWindow = 512;  // perplexity

// Tokens that the model has.
Result<std::vector<int32_t>> checked_tokens(std::span<const uint8_t> blob, const tokenizer::Tokenizer& tokenizer) {
    std::vector<int32_t> tokens = TRY(from_blob(blob));
    for (const int32_t token : tokens) {
        if (!tokenizer.is_valid(token)) {
            return fail(Code::invalid_argument, "token {} does not exist: this model's are 0 to {}", token,
                        tokenizer.size() - 1);
        }
    }
    return tokens;
}

}  // namespace

Result<KvFormat> Api::kv_of(const Call& call) {
    if (!call.args.has("kv")) return kDefaultKvFormat;
    return kv_format_from(TRY(call.args.string("kv")));
}

Task<Result<std::shared_ptr<OpenSession>>> Api::new_session(const Call& call, OpenModel& model, uint32_t context) {
    const auto config = CO_TRY(model.config());
    auto open = std::make_shared<OpenSession>();
    const auto with = [&](std::unique_ptr<Runner> runner) {
        open->session = std::make_unique<infer::Session>(std::move(runner), [this] { return host_.now(); });
        return open;
    };
    const std::string fallback = model.gpu_weights != nullptr ? "gpu" : "cpu";
    const std::string backend = call.args.has("backend") ? CO_TRY(call.args.string("backend")) : fallback;
    if (backend == "gpu" && model.gpu_weights != nullptr) {
        const auto block =
            uint32_t(CO_TRY(call.args.integer_or("block", 1, infer::kMostTogether, infer::kMostTogether)));
        auto runner = CO_TRY(co_await infer::GpuRunner::create(
            model.gpu_weights, {.context = context, .kv = CO_TRY(kv_of(call)), .block = block}, call.cancel));
        open->gpu = runner.get();
        co_return with(std::move(runner));
    }
    if (backend != "cpu" || model.cpu_weights == nullptr) {
        co_return fail(Code::invalid_argument, "the model is not loaded for the backend '{}'", printable(backend));
    }
    // The reference keeps every position in f32, in the memory the weights live in too.
    const uint64_t bytes = model::kv_bytes_unwindowed(*config, context);
    constexpr uint64_t kMost = sizeof(size_t) == 4 ? 2ull << 30 : 64ull << 30;
    if (bytes > kMost) {
        co_return fail(Code::out_of_memory, "a context of {} tokens takes {}: ask for a shorter one", context,
                       format_bytes(bytes));
    }
    co_return with(std::make_unique<reference::Forward>(config, CO_TRY(model.weights()), model.cpu_weights, context));
}

// {model, context, backend, kv, block} → {session, context}
Task<Result<Reply>> Api::session_create(Call& call) {
    const auto model = CO_TRY(model_of(call));
    const auto config = CO_TRY(model->config());
    const auto context = uint32_t(CO_TRY(call.args.integer_or(
        "context", 1, config->context_length, std::min<int64_t>(kDefaultContext, config->context_length))));
    auto open = CO_TRY(co_await new_session(call, *model, context));
    open->model = model;
    const uint32_t id = ++last_id_;
    sessions_.emplace(id, std::move(open));
    co_return Reply{.json = {{"session", id}, {"context", context}}};
}

Task<Result<Reply>> Api::session_close(Call& call) {
    if (sessions_.erase(CO_TRY(call.args.id("session"))) == 0) {
        co_return fail(Code::not_found, "there is no such session: it was closed or never opened");
    }
    co_return Reply{};
}

// {session, sink} + ids → {tokens, vocabulary}; float32 rows [tokens, vocabulary] go to the sink, with progress
Task<Result<Reply>> Api::session_logits(Call& call) {
    const auto open = CO_TRY(take_session(call));
    std::vector<int32_t> tokens = CO_TRY(from_blob(call.blob));
    if (tokens.empty()) co_return fail(Code::invalid_argument, "there are no tokens");
    HostSink sink(ops_, CO_TRY(call.args.id("sink")));
    constexpr int64_t kMost = infer::Session::kLogitRows;
    const auto at_once = uint32_t(CO_TRY(call.args.integer_or("at_once", 1, kMost, kMost)));
    const auto count = uint32_t(tokens.size());
    const auto progress = progress_of(call);
    CO_TRY(co_await use_adapters(call, *open));
    CO_TRY(co_await open->session->logits(
        std::move(tokens),
        [&](uint32_t position, std::vector<float> row) -> Task<Status> {
            Bytes bytes(row.size() * sizeof(float));
            std::memcpy(bytes.data(), row.data(), bytes.size());
            const uint64_t offset = uint64_t(position) * bytes.size();
            CO_TRY(co_await sink.write(offset, std::move(bytes), call.cancel));
            progress(position + 1, count);
            co_return Status{};
        },
        breathe_for(call), at_once));
    co_return Reply{.json = {{"tokens", count}, {"vocabulary", open->session->runner().vocabulary()}}};
}

// {session, top} + ids → {scores}: of every token but the first how likely it was after those before it, as in the events
// of session.generate, with progress
Task<Result<Reply>> Api::session_score(Call& call) {
    const auto open = CO_TRY(take_session(call));
    const auto tokenizer = CO_TRY(open->model->tokenizer());
    const std::vector<int32_t> tokens = CO_TRY(checked_tokens(call.blob, *tokenizer));
    if (tokens.empty()) co_return fail(Code::invalid_argument, "there are no tokens");
    const uint32_t context = open->session->runner().context();
    if (tokens.size() > context) {
        co_return fail(Code::limit, "the text has {} tokens and the context holds {}", tokens.size(), context);
    }
    const auto top = size_t(CO_TRY(call.args.integer_or("top", 0, kMaxTopLogprobs, 0)));
    CO_TRY(co_await use_adapters(call, *open));
    const auto progress = progress_of(call);
    std::vector<sample::TokenScore> scores;
    scores.reserve(tokens.size());
    CO_TRY(co_await open->session->logits(
        tokens,
        [&](uint32_t position, std::vector<float> row) -> Task<Status> {
            if (position + 1 < tokens.size()) scores.push_back(sample::score(row, tokens[position + 1], top));
            progress(position + 1, uint32_t(tokens.size()));
            co_return Status{};
        },
        breathe_for(call)));
    co_return Reply{.json = {{"scores", scores_json(*tokenizer, scores)}}};
}

// {session} + ids → float32 [width]: the mean over the positions of the hidden state after the last norm
Task<Result<Reply>> Api::session_embed(Call& call) {
    const auto open = CO_TRY(take_session(call));
    const std::vector<int32_t> tokens = CO_TRY(checked_tokens(call.blob, *CO_TRY(open->model->tokenizer())));
    CO_TRY(co_await use_adapters(call, *open));
    const std::vector<float> mean = CO_TRY(co_await open->session->embed(tokens, breathe_for(call)));
    Reply reply{.json = {{"tokens", tokens.size()}, {"width", mean.size()}},
                .blob = Bytes(mean.size() * sizeof(float))};
    std::memcpy(reply.blob.data(), mean.data(), reply.blob.size());
    co_return reply;
}

// {session, window} + ids → {perplexity, nll, tokens, window}, with progress
Task<Result<Reply>> Api::session_perplexity(Call& call) {
    const auto open = CO_TRY(take_session(call));
    const auto tokenizer = CO_TRY(open->model->tokenizer());
    const uint32_t context = open->session->runner().context();
    const auto window = uint32_t(CO_TRY(call.args.integer_or("window", 2, context, std::min(kDefaultWindow, context))));
    std::vector<int32_t> tokens = CO_TRY(checked_tokens(call.blob, *tokenizer));
    CO_TRY(co_await use_adapters(call, *open));
    const auto result = CO_TRY(co_await infer::perplexity(*open->session, std::move(tokens), tokenizer->bos(), window,
                                                          progress_of(call), breathe_for(call)));
    co_return Reply{
        .json = {{"perplexity", result.value()}, {"nll", result.nll}, {"tokens", result.tokens}, {"window", window}}};
}

}  // namespace lapidary::api
