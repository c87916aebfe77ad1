// session.*: a context to run a model in, and what can be asked of it.
#include <cmath>
#include <cstring>
#include <limits>

#include "api/api.h"
#include "api/token_blob.h"
#include "chat/render.h"
#include "infer/answer.h"
#include "infer/gpu_runner.h"
#include "infer/perplexity.h"
#include "model/memory.h"
#include "reference/forward.h"

namespace lapidary::api {
namespace {

constexpr size_t kMaxStops = 64;
constexpr int64_t kMaxTokens = 1 << 26;
constexpr uint32_t kDefaultContext = 4096;
constexpr uint32_t kDefaultWindow = 512;  // perplexity

// What Gemma 4's makers recommend, where neither the file nor the caller says otherwise.
constexpr float kTemperature = 1.0f;
constexpr int32_t kTopK = 64;
constexpr float kTopP = 0.95f;

Result<sample::Params> sampling_params(const Args& args, const model::Config& config, uint64_t default_seed) {
    constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
    sample::Params out;
    const model::SamplingHints& hints = config.sampling;
    out.temperature = TRY(args.number_or("temperature", hints.temperature.value_or(kTemperature)));
    out.top_k = int32_t(TRY(args.integer_or("top_k", 0, kMaxInt, hints.top_k.value_or(kTopK))));
    out.top_p = TRY(args.number_or("top_p", hints.top_p.value_or(kTopP)));
    out.min_p = TRY(args.number_or("min_p", 0));
    out.repeat_penalty = TRY(args.number_or("repeat_penalty", 1));
    out.presence_penalty = TRY(args.number_or("presence_penalty", 0));
    out.frequency_penalty = TRY(args.number_or("frequency_penalty", 0));
    out.penalty_window = uint32_t(TRY(args.integer_or("repeat_last_n", 0, kMaxTokens, 64)));
    out.seed = uint64_t(TRY(args.integer_or("seed", 0, kMaxInt << 21, int64_t(default_seed))));
    const Json& bias = args.member("logit_bias");
    if (!bias.is_null() && !bias.is_object()) {
        return fail(Code::invalid_argument, "'logit_bias' must be an object of token ids and numbers");
    }
    for (const auto& [id, value] : bias.items()) {
        const bool is_id = !id.empty() && id.size() <= 7 && id.find_first_not_of("0123456789") == std::string::npos;
        if (!is_id || !value.is_number()) {
            return fail(Code::invalid_argument, "'logit_bias' must be an object of token ids and numbers");
        }
        out.logit_bias[int32_t(std::strtol(id.c_str(), nullptr, 10))] = value.get<float>();
    }
    for (const int32_t token : config.suppress_tokens) out.logit_bias[token] = -std::numeric_limits<float>::infinity();
    return out;
}

Json event_json(const chat::Event& event) {
    switch (event.kind) {
        case chat::EventKind::content: return {{"type", "content"}, {"text", event.text}};
        case chat::EventKind::reasoning: return {{"type", "reasoning"}, {"text", event.text}};
        case chat::EventKind::tool_call:
            return {{"type", "tool_call"},
                    {"index", event.index},
                    {"id", event.id},
                    {"name", event.name},
                    {"arguments", event.arguments}};
        case chat::EventKind::invalid_tool_call:
            return {{"type", "invalid_tool_call"}, {"text", event.text}, {"error", event.error}};
    }
    return {};
}

Json message_json(const infer::ChatAnswer& answer) {
    Json message = {{"role", "assistant"}, {"content", answer.content()}};
    if (!answer.reasoning().empty()) message["reasoning_content"] = answer.reasoning();
    for (const chat::Event& call : answer.tool_calls()) {
        message["tool_calls"].push_back({{"id", call.id},
                                         {"type", "function"},
                                         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
    return message;
}

Json stats_json(const infer::GenerateStats& stats, uint64_t seed) {
    return {{"finish_reason", stats.finish == infer::Finish::stop ? "stop" : "length"},
            {"prompt_tokens", stats.prompt_tokens},
            {"cached_tokens", stats.cached_tokens},
            {"completion_tokens", stats.completion_tokens},
            {"prompt_ms", stats.prompt_ms},
            {"completion_ms", stats.completion_ms},
            {"seed", seed}};
}

}  // namespace

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
        const std::string kv = call.args.has("kv") ? CO_TRY(call.args.string("kv")) : "f16";
        if (kv != "f16" && kv != "f32") co_return fail(Code::invalid_argument, "'kv' must be f16 or f32");
        auto runner = CO_TRY(co_await infer::GpuRunner::create(
            model.gpu_weights, {.context = context, .kv_f16 = kv == "f16"}, call.cancel));
        open->gpu = runner.get();
        co_return with(std::move(runner));
    }
    if (backend != "cpu" || model.cpu_weights == nullptr) {
        co_return fail(Code::invalid_argument, "the model is not loaded for the backend '{}'", printable(backend));
    }
    // The reference keeps every position in f32, in the memory the weights live in too.
    const uint64_t bytes = model::kv_bytes_unwindowed(*config, context, sizeof(float));
    constexpr uint64_t kMost = sizeof(size_t) == 4 ? 2ull << 30 : 64ull << 30;
    if (bytes > kMost) {
        co_return fail(Code::out_of_memory, "a context of {} tokens takes {}: ask for a shorter one", context,
                       format_bytes(bytes));
    }
    co_return with(std::make_unique<reference::Forward>(config, CO_TRY(model.weights()), model.cpu_weights, context));
}

// {model, context, backend, kv} → {session, context}
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

// {session, prompt | messages, tools, thinking, max_tokens, sampling, stop} → text or message, and what it took
Task<Result<Reply>> Api::session_generate(Call& call) {
    const auto open = CO_TRY(take_session(call));
    const auto config = CO_TRY(open->model->config());
    const auto tokenizer = CO_TRY(open->model->tokenizer());
    infer::GenerateOptions options;
    options.max_tokens = uint32_t(CO_TRY(call.args.integer_or("max_tokens", 0, kMaxTokens, 0)));
    const auto fresh_seed = uint64_t(host_.now() * 1000) % (1ull << 32);
    options.sampling = CO_TRY(sampling_params(Args(call.args.member("sampling")), *config, fresh_seed));
    const std::vector<std::string> stops = CO_TRY(call.args.strings("stop", kMaxStops));

    const auto progress = progress_of(call);
    infer::GenerateListener listener;
    listener.on_prompt = [&](uint32_t done, uint32_t total) { progress(done, total); };
    listener.is_end = [&](int32_t token) { return tokenizer->is_end_of_generation(token); };

    if (!call.args.has("messages")) {
        const tokenizer::EncodeOptions encode{.add_bos = CO_TRY(call.args.boolean_or("add_bos", true)),
                                              .parse_special = CO_TRY(call.args.boolean_or("parse_special", true))};
        std::vector<int32_t> prompt = tokenizer->encode(CO_TRY(call.args.string("prompt")), encode);
        infer::TextAnswer answer(tokenizer, stops);
        std::string text;
        const auto tell = [&](const std::string& piece, int32_t token) {
            text += piece;
            emit(call, {{"type", "text"}, {"text", piece}, {"tokens", Json::array({token})}});
        };
        listener.on_token = [&](int32_t token) {
            tell(answer.feed(token), token);
            return !answer.stopped();
        };
        const auto stats =
            CO_TRY(co_await open->session->generate(std::move(prompt), options, listener, breathe_for(call)));
        if (const std::string rest = answer.finish(); !rest.empty()) {
            text += rest;
            emit(call, {{"type", "text"}, {"text", rest}, {"tokens", Json::array()}});
        }
        Json json = stats_json(stats, options.sampling.seed);
        json["text"] = std::move(text);
        co_return Reply{.json = std::move(json)};
    }

    const auto conversation =
        CO_TRY(chat::conversation_from_json(call.args.member("messages"), call.args.member("tools")));
    const bool thinking = CO_TRY(call.args.boolean_or("thinking", false));
    const auto size = config->is_small() ? chat::ModelSize::small : chat::ModelSize::large;
    const auto prompt = CO_TRY(chat::render_pieces(
        conversation, {.size = size, .thinking = thinking, .generation = chat::GenerationPrompt::always}));
    if (prompt.end == chat::PromptEnd::awaiting_results) {
        co_return fail(Code::invalid_argument, "the last message calls tools: send their results to go on");
    }
    std::vector<tokenizer::TextPiece> pieces;
    for (const chat::Piece& piece : prompt.pieces) pieces.push_back({piece.text, piece.trusted});
    infer::ChatAnswer answer(tokenizer, {.start = prompt.end, .thinking = thinking, .tools = conversation.tools}, stops,
                             [&](const chat::Event& event) { emit(call, event_json(event)); });
    listener.on_token = [&](int32_t token) {
        answer.feed(token);
        return !answer.stopped();
    };
    const auto stats = CO_TRY(
        co_await open->session->generate(tokenizer->encode_pieces(pieces), options, listener, breathe_for(call)));
    answer.finish();
    Json json = stats_json(stats, options.sampling.seed);
    if (!answer.tool_calls().empty()) json["finish_reason"] = "tool_calls";
    json["text"] = answer.content();
    json["message"] = message_json(answer);
    co_return Reply{.json = std::move(json)};
}

// {session, window} + ids → {perplexity, nll, tokens, window}, with progress
Task<Result<Reply>> Api::session_perplexity(Call& call) {
    const auto open = CO_TRY(take_session(call));
    const auto tokenizer = CO_TRY(open->model->tokenizer());
    const uint32_t context = open->session->runner().context();
    const auto window = uint32_t(CO_TRY(call.args.integer_or("window", 2, context, std::min(kDefaultWindow, context))));
    std::vector<int32_t> tokens = CO_TRY(from_blob(call.blob));
    for (const int32_t token : tokens) {
        if (!tokenizer->is_valid(token)) co_return fail(Code::invalid_argument, "token {} does not exist", token);
    }
    const auto result = CO_TRY(co_await infer::perplexity(*open->session, std::move(tokens), tokenizer->bos(), window,
                                                          progress_of(call), breathe_for(call)));
    co_return Reply{
        .json = {{"perplexity", result.value()}, {"nll", result.nll}, {"tokens", result.tokens}, {"window", window}}};
}

}  // namespace lapidary::api
