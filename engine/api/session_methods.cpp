// session.*: a context to run a model in, and what can be asked of it.
#include <cstring>

#include "api/answer_events.h"
#include "api/api.h"
#include "api/messages/session.h"
#include "api/token_blob.h"
#include "base/edition.h"
#include "infer/gpu_encoder.h"
#include "infer/gpu_runner.h"
#include "infer/perplexity.h"

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

Result<KvFormat> Api::kv_of(std::string_view name) {
    if (name.empty()) return kDefaultKvFormat;
    return kv_format_from(name);
}

Task<Result<std::shared_ptr<OpenSession>>> Api::new_session(const Call& call, OpenModel& model, uint32_t context,
                                                            const SessionCreateArgs& args) {
    const auto config = CO_TRY(model.config());
    auto open = std::make_shared<OpenSession>();
    if (args.image_attention == "llama.cpp") open->image_attention = ImageAttention::llama_cpp;
    if (!args.image_attention.empty() && args.image_attention != "llama.cpp" && args.image_attention != "reference") {
        co_return fail(Code::invalid_argument, "'image_attention' must be 'reference' or 'llama.cpp'");
    }
    const auto with = [&](std::unique_ptr<Runner> runner) {
        open->session = std::make_unique<infer::Session>(std::move(runner), [this] { return host_.now(); });
        return open;
    };
    std::string_view backend = args.backend;
    if (backend.empty()) backend = model.gpu_weights != nullptr ? "gpu" : "cpu";
    if (backend == "gpu" && model.gpu_weights != nullptr) {
        const bool embeds = has_everything() && config->embedding;
        // Of embeddings there are keys and values of a layer at a time: exact ones cost next to nothing.
        const KvFormat kv = embeds && args.kv.empty() ? KvFormat::f32 : CO_TRY(kv_of(args.kv));
        const infer::GpuOptions options{
            .context = context, .kv = kv, .block = uint32_t(args.block), .shares_scratch = args.share_scratch};
        if (embeds) {
            co_return with(CO_TRY(co_await infer::GpuEncoder::create(model.gpu_weights, options, call.cancel)));
        }
        auto runner = CO_TRY(co_await infer::GpuRunner::create(model.gpu_weights, options, call.cancel));
        open->gpu = runner.get();
        co_return with(std::move(runner));
    }
    if (backend != "cpu" || (model.cpu_model == nullptr && model.cpu_weights == nullptr)) {
        co_return fail(Code::invalid_argument, "the model is not loaded for the backend '{}'", printable(backend));
    }
    co_return with(CO_TRY(cpu_runner(model, context)));
}

Task<Result<Reply>> Api::session_create(Call& call) {
    SessionCreateArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    const int64_t longest = CO_TRY(model->config())->context_length;
    const int64_t context = args.context.value_or(std::min<int64_t>(kDefaultContext, longest));
    CO_TRY(check_between("context", context, 1, longest));
    auto made = co_await new_session(call, *model, uint32_t(context), args);
    // Towers can be loaded again; a conversation comes first.
    if (!made && made.error().code == Code::out_of_memory && has_everything() && release_towers()) {
        made = co_await new_session(call, *model, uint32_t(context), args);
    }
    auto open = CO_TRY(std::move(made));
    open->model = model;
    const uint32_t id = ++last_id_;
    sessions_.emplace(id, std::move(open));
    co_return reply(SessionCreateResult{.session = id, .context = context});
}

Task<Result<Reply>> Api::session_close(Call& call) {
    SessionArgs args;
    CO_TRY(read_message(call.args, args));
    if (sessions_.erase(args.session) == 0) {
        co_return fail(Code::not_found, "there is no such session: it was closed or never opened");
    }
    co_return Reply{};
}

// Float32 rows [tokens, vocabulary] go to the sink.
Task<Result<Reply>> Api::session_logits(Call& call) {
    SessionLogitsArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(take_session(args.session));
    const std::vector<int32_t> tokens = CO_TRY(from_blob(call.blob));
    if (tokens.empty()) co_return fail(Code::invalid_argument, "there are no tokens");
    HostSink sink(ops_, args.sink);
    infer::Prompt prompt = CO_TRY(prompt_with_media(call, *open, tokens, args.media));
    const auto count = uint32_t(prompt.tokens.size());
    const auto progress = progress_of(call);
    CO_TRY(co_await use_adapters(args.adapters, *open));
    CO_TRY(co_await open->session->logits(
        std::move(prompt),
        [&](uint32_t position, std::vector<float> row) -> Task<Status> {
            Bytes bytes(row.size() * sizeof(float));
            std::memcpy(bytes.data(), row.data(), bytes.size());
            const uint64_t offset = uint64_t(position) * bytes.size();
            CO_TRY(co_await sink.write(offset, std::move(bytes), call.cancel));
            progress(position + 1, count);
            co_return Status{};
        },
        breathe_for(call), uint32_t(args.at_once)));
    co_return reply(SessionLogitsResult{.tokens = count, .vocabulary = open->session->runner().vocabulary()});
}

Task<Result<Reply>> Api::session_score(Call& call) {
    SessionScoreArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(take_session(args.session));
    const auto tokenizer = CO_TRY(open->model->tokenizer());
    const std::vector<int32_t> tokens = CO_TRY(checked_tokens(call.blob, *tokenizer));
    if (tokens.empty()) co_return fail(Code::invalid_argument, "there are no tokens");
    const uint32_t context = open->session->runner().context();
    if (tokens.size() > context) {
        co_return fail(Code::limit, "the text has {} tokens and the context holds {}", tokens.size(), context);
    }
    CO_TRY(co_await use_adapters(args.adapters, *open));
    const auto progress = progress_of(call);
    std::vector<sample::TokenScore> scores;
    scores.reserve(tokens.size());
    CO_TRY(co_await open->session->logits(
        {.tokens = tokens},
        [&](uint32_t position, std::vector<float> row) -> Task<Status> {
            if (position + 1 < tokens.size())
                scores.push_back(sample::score(row, tokens[position + 1], size_t(args.top)));
            progress(position + 1, uint32_t(tokens.size()));
            co_return Status{};
        },
        breathe_for(call)));
    co_return reply(SessionScoreResult{.scores = logprobs(*tokenizer, scores)});
}

Task<Result<Reply>> Api::session_perplexity(Call& call) {
    SessionPerplexityArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(take_session(args.session));
    const auto tokenizer = CO_TRY(open->model->tokenizer());
    const uint32_t context = open->session->runner().context();
    const int64_t window = args.window.value_or(std::min(kDefaultWindow, context));
    CO_TRY(check_between("window", window, 2, context));
    std::vector<int32_t> tokens = CO_TRY(checked_tokens(call.blob, *tokenizer));
    CO_TRY(co_await use_adapters(args.adapters, *open));
    const auto result = CO_TRY(co_await infer::perplexity(*open->session, std::move(tokens), tokenizer->bos(),
                                                          uint32_t(window), progress_of(call), breathe_for(call)));
    co_return reply(SessionPerplexityResult{
        .perplexity = result.value(), .nll = result.nll, .tokens = int64_t(result.tokens), .window = window});
}

}  // namespace lapidary::api
