// session.generate: a prompt or a conversation in, an answer out, token by token.
#include <algorithm>
#include <limits>

#include "api/answer_events.h"
#include "api/api.h"
#include "api/chat_prompt.h"
#include "api/sampling_args.h"
#include "chat/markers.h"
#include "grammar/schema.h"
#include "infer/answer.h"
#include "infer/answer_format.h"

namespace lapidary::api {

// What was asked for, and what is kept while the answer is written.
struct Generation {
    std::shared_ptr<const model::Config> config;
    std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
    infer::GenerateOptions options;
    infer::GenerateListener listener;
    std::vector<std::string> stops;
    std::vector<int32_t> answered;  // continue_tokens
    Overflow overflow = Overflow::error;
    std::shared_ptr<const grammar::Program> content_form;
    std::optional<infer::AnswerFormat> format;
    Status kept;  // the format, as it must be
    bool with_logprobs = false;
    std::vector<sample::TokenScore> scores;  // of tokens whose text has not been told yet

    // The scores collected so far, as a member of an event.
    void attach_scores(Json& event) {
        if (!with_logprobs) return;
        event["logprobs"] = scores_json(*tokenizer, scores);
        scores.clear();
    }
};

namespace {

constexpr size_t kMaxStops = 64;
constexpr int64_t kMaxTokens = 1 << 26;

Result<std::vector<int32_t>> token_list(const Args& args, const char* name, const tokenizer::Tokenizer& tokenizer) {
    std::vector<int32_t> out;
    const Json& list = args.member(name);
    if (list.is_null()) return out;
    if (!list.is_array()) return fail(Code::invalid_argument, "'{}' must be a list of token ids", name);
    for (const Json& item : list) {
        const bool small = item.is_number_unsigned() && item.get<uint64_t>() < uint64_t(tokenizer.size());
        if (!small) {
            return fail(Code::invalid_argument, "'{}' must be a list of token ids from 0 to {}", name,
                        tokenizer.size() - 1);
        }
        out.push_back(item.get<int32_t>());
    }
    return out;
}

Result<std::vector<int32_t>> continued_tokens(const Args& args, const tokenizer::Tokenizer& tokenizer) {
    std::vector<int32_t> out = TRY(token_list(args, "continue_tokens", tokenizer));
    for (const int32_t token : out) {
        if (tokenizer.is_end_of_generation(token)) {
            return fail(Code::invalid_argument, "'continue_tokens' has a token that ends the answer: it is complete");
        }
    }
    return out;
}

// The text to continue; `prompt_tokens` are taken as they are.
Result<std::vector<int32_t>> text_prompt(const Args& args, const tokenizer::Tokenizer& tokenizer) {
    if (args.has("prompt_tokens")) return token_list(args, "prompt_tokens", tokenizer);
    const tokenizer::EncodeOptions encode{.add_bos = TRY(args.boolean_or("add_bos", true)),
                                          .parse_special = TRY(args.boolean_or("parse_special", true))};
    return tokenizer.encode(TRY(args.string("prompt")), encode);
}

// Tells the format what was answered before.
Status catch_up(Generation& generation) {
    if (!generation.format) return {};
    for (const int32_t token : generation.answered) {
        if (!generation.format->accept(token)) {
            return fail(Code::invalid_argument, "'continue_tokens' do not follow 'response_format' or 'tool_choice'");
        }
    }
    return {};
}

// OpenAI's `tool_choice`.
struct ToolChoice {
    enum class Kind : uint8_t { automatic, none, required } kind = Kind::automatic;
    std::string name;  // required: of the only tool that may be called; empty: any
};

Result<ToolChoice> tool_choice(const Json& choice) {
    using Kind = ToolChoice::Kind;
    const std::string_view word = chat::string_of(choice);
    if (choice.is_null() || word == "auto") return ToolChoice{};
    if (word == "none") return ToolChoice{.kind = Kind::none};
    if (word == "required") return ToolChoice{.kind = Kind::required};
    const Json& function = chat::member(choice, "function");
    const std::string_view name = chat::string_of(chat::member(function.is_null() ? choice : function, "name"));
    if (!name.empty()) return ToolChoice{.kind = Kind::required, .name = std::string(name)};
    return fail(Code::invalid_argument, "'tool_choice' must be 'auto', 'none', 'required' or {function: {name}}");
}

// What a call must look like when one is demanded.
Result<std::shared_ptr<const grammar::Program>> demanded_call(const ToolChoice& choice, const chat::Conversation& talk,
                                                              const tokenizer::Tokenizer& tokenizer) {
    for (const std::string_view marker : {chat::kCallOpen, chat::kCallClose, chat::kQuote}) {
        if (!tokenizer.find(marker))
            return fail(Code::unsupported, "this model cannot call tools: it has no {}", marker);
    }
    std::vector<chat::Tool> tools;
    for (const chat::Tool& tool : talk.tools) {
        if (choice.name.empty() || tool.name == choice.name) tools.push_back(tool);
    }
    if (tools.empty()) {
        return fail(Code::invalid_argument, "'tool_choice' demands a call of '{}', and 'tools' has no such tool",
                    choice.name.empty() ? "any tool" : printable(choice.name));
    }
    return grammar::compile_calls(tools);
}

std::unexpected<Error> complete_already() {
    return fail(Code::invalid_argument, "'continue_tokens' hold a stop string: the answer is complete");
}

// Sets up the listener around `feed`, which takes a token and says whether to go on.
void listen(Generation& generation, std::function<bool(int32_t)> feed) {
    infer::GenerateListener& listener = generation.listener;
    if (generation.format) {
        listener.allowed = [&generation]() -> Result<sample::Allowed> {
            const sample::Allowed allowed = generation.format->allowed();
            TRY(generation.format->status());
            return allowed;
        };
    }
    if (generation.with_logprobs) {
        listener.on_score = [&generation](const sample::TokenScore& score) { generation.scores.push_back(score); };
    }
    listener.on_token = [&generation, feed = std::move(feed)](int32_t token) {
        if (generation.format) generation.kept = generation.format->accept(token);
        return generation.kept && feed(token);
    };
}

// Appends what was answered before. False: there is no room, and the policy is to stop there.
Result<bool> fit(Generation& generation, std::vector<int32_t>& prompt, uint32_t context) {
    prompt.insert(prompt.end(), generation.answered.begin(), generation.answered.end());
    generation.options.answered = uint32_t(generation.answered.size());
    return prompt.size() < context || generation.overflow != Overflow::stop;
}

infer::GenerateStats no_room(const std::vector<int32_t>& prompt, const Generation& generation) {
    infer::GenerateStats stats;
    stats.finish = infer::Finish::length;
    stats.completion_tokens = generation.options.answered;
    stats.prompt_tokens = uint32_t(prompt.size()) - stats.completion_tokens;
    return stats;
}

}  // namespace

Result<Generation> Api::read_generation(Call& call, OpenSession& open) {
    Generation out;
    out.config = TRY(open.model->config());
    out.tokenizer = TRY(open.model->tokenizer());
    out.options.max_tokens = uint32_t(TRY(call.args.integer_or("max_tokens", 0, kMaxTokens, 0)));
    const auto fresh_seed = uint64_t(host_.now() * 1000) % (1ull << 32);
    out.options.sampling = TRY(sampling_params(Args(call.args.member("sampling")), *out.config, fresh_seed));
    out.stops = TRY(call.args.strings("stop", kMaxStops));
    out.answered = TRY(continued_tokens(call.args, *out.tokenizer));
    if (call.args.has("overflow")) out.overflow = TRY(overflow_from(TRY(call.args.string("overflow"))));
    out.with_logprobs = call.args.has("logprobs");
    out.options.top_logprobs = uint32_t(TRY(call.args.integer_or("logprobs", 0, kMaxTopLogprobs, 0)));
    out.content_form = TRY(grammar::compile_response_format(call.args.member("response_format")));
    const auto progress = progress_of(call);
    out.listener.on_prompt = [progress](uint32_t done, uint32_t total) { progress(done, total); };
    out.listener.is_end = [tokenizer = out.tokenizer](int32_t token) { return tokenizer->is_end_of_generation(token); };
    return out;
}

Task<Result<Reply>> Api::session_generate(Call& call) {
    const auto open = CO_TRY(take_session(call));
    Generation generation = CO_TRY(read_generation(call, *open));
    CO_TRY(co_await use_adapters(call, *open));
    if (call.args.has("messages")) co_return co_await generate_chat(call, *open, generation);
    co_return co_await generate_text(call, *open, generation);
}

Task<Result<Reply>> Api::generate_text(Call& call, OpenSession& open, Generation& generation) {
    if (generation.overflow == Overflow::slide) {
        co_return fail(Code::invalid_argument, "'overflow' can be 'slide' for messages only");
    }
    std::vector<int32_t> prompt = CO_TRY(text_prompt(call.args, *generation.tokenizer));
    if (generation.content_form != nullptr) {
        generation.format.emplace(*generation.tokenizer, CO_TRY(open.model->token_texts()),
                                  infer::AnswerFormatOptions{.content = generation.content_form});
    }
    CO_TRY(catch_up(generation));

    infer::TextAnswer answer(generation.tokenizer, generation.stops);
    std::string text;
    for (const int32_t token : generation.answered) text += answer.feed(token);
    if (answer.stopped()) co_return complete_already();
    const auto tell = [&](const std::string& piece, const Json& tokens) {
        text += piece;
        Json event = {{"type", "text"}, {"text", piece}, {"tokens", tokens}};
        generation.attach_scores(event);
        emit(call, event);
    };
    listen(generation, [&](int32_t token) {
        tell(answer.feed(token), Json::array({token}));
        return !answer.stopped();
    });
    const bool room = CO_TRY(fit(generation, prompt, open.session->runner().context()));
    const auto stats = room ? CO_TRY(co_await open.session->generate(std::move(prompt), generation.options,
                                                                     generation.listener, breathe_for(call)))
                            : no_room(prompt, generation);
    CO_TRY(generation.kept);
    if (const std::string rest = answer.finish(); !rest.empty()) tell(rest, Json::array());
    Json json = stats_json(stats, generation.options.sampling.seed);
    json["text"] = std::move(text);
    co_return Reply{.json = std::move(json)};
}

Task<Result<Reply>> Api::generate_chat(Call& call, OpenSession& open, Generation& generation) {
    const auto conversation =
        CO_TRY(chat::conversation_from_json(call.args.member("messages"), call.args.member("tools")));
    const bool thinking = CO_TRY(call.args.boolean_or("thinking", false));
    const bool report_tokens = CO_TRY(call.args.boolean_or("report_tokens", false));
    const uint32_t context = open.session->runner().context();
    const auto size = generation.config->is_small() ? chat::ModelSize::small : chat::ModelSize::large;
    const chat::RenderOptions render{.size = size, .thinking = thinking, .generation = chat::GenerationPrompt::always};
    ChatPrompt prompt;
    if (generation.overflow == Overflow::slide) {
        // Room for the answer that was asked for, or a quarter of the context; never so much that little else fits.
        const uint32_t wanted = generation.options.max_tokens > 0 ? generation.options.max_tokens : context / 4;
        const size_t room = std::max(std::min<size_t>(wanted, context / 2), generation.answered.size() + 1);
        prompt = CO_TRY(sliding_chat_prompt(*generation.tokenizer, conversation, render,
                                            context - std::min<size_t>(room, context)));
    } else {
        prompt = CO_TRY(chat_prompt(*generation.tokenizer, conversation, render));
    }
    using Calls = infer::AnswerFormatOptions::Calls;
    const ToolChoice choice = CO_TRY(tool_choice(call.args.member("tool_choice")));
    const bool demanded = choice.kind == ToolChoice::Kind::required;
    const bool forbidden = choice.kind == ToolChoice::Kind::none || conversation.tools.empty();
    if (generation.content_form != nullptr || demanded) {
        generation.format.emplace(
            *generation.tokenizer, CO_TRY(open.model->token_texts()),
            infer::AnswerFormatOptions{
                .content = generation.content_form,
                .call = demanded ? CO_TRY(demanded_call(choice, conversation, *generation.tokenizer)) : nullptr,
                .calls = demanded ? Calls::required : (forbidden ? Calls::forbidden : Calls::possible),
                .thoughts = thinking,
                .start = prompt.end});
    }
    if (choice.kind == ToolChoice::Kind::none) {
        if (const auto opener = generation.tokenizer->find(chat::kCallOpen)) {
            generation.options.sampling.logit_bias[*opener] = -std::numeric_limits<float>::infinity();
        }
    }
    CO_TRY(catch_up(generation));

    infer::ChatAnswer answer(generation.tokenizer,
                             {.start = prompt.end, .thinking = thinking, .tools = conversation.tools}, generation.stops,
                             [&](const chat::Event& event) {
                                 Json json = event_json(event);
                                 if (event.kind == chat::EventKind::content) generation.attach_scores(json);
                                 emit(call, json);
                             });
    answer.set_silent(true);
    for (const int32_t token : generation.answered) answer.feed(token);
    answer.set_silent(false);
    if (answer.stopped()) co_return complete_already();
    listen(generation, [&](int32_t token) {
        // Scores are told with the content their tokens made; those of thoughts, calls and marks are not told.
        if (!answer.is_content(token)) generation.scores.clear();
        if (report_tokens) emit(call, {{"type", "tokens"}, {"tokens", Json::array({token})}});
        answer.feed(token);
        return !answer.stopped();
    });
    const bool room = CO_TRY(fit(generation, prompt.tokens, context));
    const auto stats = room ? CO_TRY(co_await open.session->generate(std::move(prompt.tokens), generation.options,
                                                                     generation.listener, breathe_for(call)))
                            : no_room(prompt.tokens, generation);
    CO_TRY(generation.kept);
    answer.finish();
    Json json = stats_json(stats, generation.options.sampling.seed);
    if (!answer.tool_calls().empty()) json["finish_reason"] = "tool_calls";
    json["text"] = answer.content();
    json["message"] = message_json(answer);
    if (generation.overflow == Overflow::slide) json["dropped_messages"] = prompt.dropped_messages;
    co_return Reply{.json = std::move(json)};
}

}  // namespace lapidary::api
