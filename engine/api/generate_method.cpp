// session.generate: a prompt or a conversation in, an answer out, token by token.
#include <algorithm>
#include <limits>

#include "api/answer_events.h"
#include "api/api.h"
#include "api/canvas.h"
#include "api/chat_prompt.h"
#include "api/sampling_args.h"
#include "base/edition.h"
#include "chat/markers.h"
#include "chat/render_gemma3.h"
#include "grammar/schema.h"
#include "infer/answer.h"
#include "infer/answer_format.h"
#include "infer/turns.h"

namespace lapidary::api {

// What was asked for, and what is kept while the answer is written.
struct Generation {
    SessionGenerateArgs args;
    std::shared_ptr<const model::Config> config;
    std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
    infer::GenerateOptions options;
    infer::GenerateListener listener;
    std::vector<int32_t> answered;  // continue_tokens
    Overflow overflow = Overflow::error;
    std::shared_ptr<const grammar::Program> content_form;
    std::optional<infer::AnswerFormat> format;
    Status kept;                             // the format, as it must be
    std::vector<sample::TokenScore> scores;  // of tokens whose text has not been told yet

    // The scores collected so far, for an event; null where nobody asked for them.
    Json take_logprobs() {
        if (!args.logprobs) return {};
        Json out = written_list(logprobs(*tokenizer, scores));
        scores.clear();
        return out;
    }
};

namespace {

Result<std::vector<int32_t>> token_list(const Json& list, const char* name, const tokenizer::Tokenizer& tokenizer) {
    std::vector<int32_t> out;
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

Result<std::vector<int32_t>> continued_tokens(const Json& list, const tokenizer::Tokenizer& tokenizer) {
    std::vector<int32_t> out = TRY(token_list(list, "continue_tokens", tokenizer));
    for (const int32_t token : out) {
        if (tokenizer.is_end_of_generation(token)) {
            return fail(Code::invalid_argument, "'continue_tokens' has a token that ends the answer: it is complete");
        }
    }
    return out;
}

// The text to continue; `prompt_tokens` are taken as they are.
Result<std::vector<int32_t>> text_prompt(const SessionGenerateArgs& args, const tokenizer::Tokenizer& tokenizer) {
    if (!args.prompt_tokens.is_null()) return token_list(args.prompt_tokens, "prompt_tokens", tokenizer);
    if (!args.prompt) return fail(Code::invalid_argument, "'prompt' must be a text");
    return tokenizer.encode(*args.prompt, {.add_bos = args.add_bos, .parse_special = args.parse_special});
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

Result<std::vector<chat::Tool>> demanded_tools(const ToolChoice& choice, const chat::Conversation& talk) {
    std::vector<chat::Tool> tools;
    for (const chat::Tool& tool : talk.tools) {
        if (choice.name.empty() || tool.name == choice.name) tools.push_back(tool);
    }
    if (tools.empty()) {
        return fail(Code::invalid_argument, "'tool_choice' demands a call of '{}', and 'tools' has no such tool",
                    choice.name.empty() ? "any tool" : printable(choice.name));
    }
    return tools;
}

// What a call must look like when one is demanded.
Task<grammar::ProgramResult> demanded_call(const ToolChoice& choice, const chat::Conversation& talk,
                                           const tokenizer::Tokenizer& tokenizer, Breathe breathe) {
    for (const std::string_view marker : {chat::kCallOpen, chat::kCallClose, chat::kQuote}) {
        if (!infer::find_marker(tokenizer, marker))
            co_return fail(Code::unsupported, "this model cannot call tools: it has no {}", marker);
    }
    const std::vector<chat::Tool> tools = CO_TRY(demanded_tools(choice, talk));
    co_return co_await grammar::compile_calls(tools, std::move(breathe));
}

// The same where the whole answer is the call.
Task<grammar::ProgramResult> prompted_call(const ToolChoice& choice, const chat::Conversation& talk, Breathe breathe) {
    const std::vector<chat::Tool> tools = CO_TRY(demanded_tools(choice, talk));
    const Json form = {{"type", "json_schema"}, {"json_schema", {{"schema", chat::prompted_call_schema(tools)}}}};
    co_return co_await grammar::compile_response_format(form, std::move(breathe));
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
    if (generation.args.logprobs) {
        listener.on_score = [&generation](const sample::TokenScore& score) { generation.scores.push_back(score); };
    }
    listener.on_token = [&generation, feed = std::move(feed)](int32_t token) {
        if (generation.format) generation.kept = generation.format->accept(token);
        return generation.kept && feed(token);
    };
}

// That an answer needs behind its prompt: a token, or a canvas of them.
uint32_t least_room(const model::Config& config) {
    return has_everything() && config.diffusion ? config.diffusion->canvas : 1;
}

// Appends what was answered before. False: there is no room, and the policy is to stop there.
Result<bool> fit(Generation& generation, infer::Prompt& prompt, uint32_t context) {
    prompt.tokens.insert(prompt.tokens.end(), generation.answered.begin(), generation.answered.end());
    generation.options.answered = uint32_t(generation.answered.size());
    const bool fits = prompt.tokens.size() + least_room(*generation.config) <= context;
    return fits || generation.overflow != Overflow::stop;
}

infer::GenerateStats no_room(const infer::Prompt& prompt, const Generation& generation) {
    infer::GenerateStats stats;
    stats.finish = infer::Finish::length;
    stats.completion_tokens = generation.options.answered;
    stats.prompt_tokens = uint32_t(prompt.tokens.size()) - stats.completion_tokens;
    return stats;
}

}  // namespace

Status Api::prepare(Call& call, OpenSession& open, Generation& out) {
    out.config = TRY(open.model->config());
    TRY(model::check_writes_text(*out.config));
    out.tokenizer = TRY(open.model->tokenizer());
    out.options.max_tokens = uint32_t(out.args.max_tokens);
    const auto fresh_seed = uint64_t(host_.now() * 1000) % (1ull << 32);
    out.options.sampling = TRY(sampling_params(out.args.sampling, *out.config, fresh_seed));
    out.answered = TRY(continued_tokens(out.args.continue_tokens, *out.tokenizer));
    out.overflow = TRY(overflow_from(out.args.overflow));
    out.options.top_logprobs = uint32_t(out.args.logprobs.value_or(0));
    const auto progress = progress_of(call);
    out.listener.on_prompt = [progress](uint32_t done, uint32_t total) { progress(done, total); };
    if (has_everything() && out.config->diffusion) {
        out.options.canvas = TRY(canvas_settings(out.args, *out.config->diffusion));
    }
    out.listener.is_end = [tokenizer = out.tokenizer](int32_t token) { return tokenizer->is_end_of_generation(token); };
    return {};
}

Task<Result<Reply>> Api::session_generate(Call& call) {
    Generation generation;
    CO_TRY(read_message(call.args, generation.args));
    const auto open = CO_TRY(take_session(generation.args.session));
    CO_TRY(prepare(call, *open, generation));
    generation.content_form =
        CO_TRY(co_await grammar::compile_response_format(generation.args.response_format, breathe_for(call)));
    CO_TRY(co_await use_adapters(generation.args.adapters, *open));
    if (!generation.args.messages.is_null()) co_return co_await generate_chat(call, *open, generation);
    co_return co_await generate_text(call, *open, generation);
}

Task<Result<Reply>> Api::generate_text(Call& call, OpenSession& open, Generation& generation) {
    if (generation.overflow == Overflow::slide) {
        co_return fail(Code::invalid_argument, "'overflow' can be 'slide' for messages only");
    }
    infer::Prompt prompt{.tokens = CO_TRY(text_prompt(generation.args, *generation.tokenizer))};
    if (generation.content_form != nullptr) {
        generation.format.emplace(*generation.tokenizer, CO_TRY(open.model->token_texts()),
                                  infer::AnswerFormatOptions{.content = generation.content_form});
    }
    CO_TRY(catch_up(generation));

    infer::TextAnswer answer(generation.tokenizer, generation.args.stop);
    std::string text;
    for (const int32_t token : generation.answered) text += answer.feed(token);
    if (answer.stopped()) co_return complete_already();
    const auto tell = [&](std::string piece, std::vector<int64_t> tokens) {
        text += piece;
        emit(call,
             TextEvent{.text = std::move(piece), .tokens = std::move(tokens), .logprobs = generation.take_logprobs()});
    };
    listen(generation, [&](int32_t token) {
        tell(answer.feed(token), {token});
        return !answer.stopped();
    });
    if (has_everything() && generation.args.drafts) {
        generation.listener.on_draft = [&](const infer::CanvasDraft& draft) {
            emit(call, draft_event(draft, generation.listener.is_end,
                                   [&](auto tokens, auto& ends) { return answer.draft(tokens, ends); }));
        };
    }
    const uint32_t context = open.session->runner().context();
    const bool room = CO_TRY(fit(generation, prompt, context));
    const auto stats = room ? CO_TRY(co_await open.session->generate(std::move(prompt), generation.options,
                                                                     generation.listener, breathe_for(call)))
                            : no_room(prompt, generation);
    CO_TRY(generation.kept);
    if (std::string rest = answer.finish(); !rest.empty()) tell(std::move(rest), {});
    SessionGenerateResult out = result_of(stats, generation.options.sampling.seed);
    out.text = std::move(text);
    co_return reply(out);
}

void Api::tell_event(const Call& call, Generation& generation, const chat::Event& event) {
    switch (event.kind) {
        case chat::EventKind::content:
            return emit(call, ContentEvent{.text = event.text, .logprobs = generation.take_logprobs()});
        case chat::EventKind::reasoning: return emit(call, ReasoningEvent{.text = event.text});
        case chat::EventKind::tool_call:
            return emit(
                call,
                ToolCallEvent{
                    .index = int64_t(event.index), .id = event.id, .name = event.name, .arguments = event.arguments});
        case chat::EventKind::arguments:
            return emit(call, ArgumentsEvent{.index = int64_t(event.index), .text = event.arguments});
        case chat::EventKind::invalid_tool_call:
            return emit(call, InvalidToolCallEvent{.text = event.text, .error = event.error});
    }
}

Task<Result<Reply>> Api::generate_chat(Call& call, OpenSession& open, Generation& generation) {
    auto conversation = CO_TRY(chat::conversation_from_json(generation.args.messages, generation.args.tools));
    const chat::Turns turns = infer::turns_of(*generation.tokenizer);
    const ToolChoice choice = CO_TRY(tool_choice(generation.args.tool_choice));
    const bool prompted = has_everything() && turns == chat::Turns::gemma3;  // nothing but words says what a call is
    if (prompted && choice.kind == ToolChoice::Kind::none) conversation.tools.clear();
    const bool thinking = generation.args.thinking && turns == chat::Turns::gemma4;
    const uint32_t context = open.session->runner().context();
    const auto size = generation.config->is_small() ? chat::ModelSize::small : chat::ModelSize::large;
    const chat::RenderOptions render{
        .turns = turns, .size = size, .thinking = thinking, .generation = chat::GenerationPrompt::always};
    ChatPrompt prompt;
    const FindMedia media = [&](uint32_t wanted) -> Result<PromptMedia> {
        if (!has_everything()) return fail(Code::needs_everything, "images and sounds need the whole engine");
        return prompt_media(call, open, wanted);
    };
    if (generation.overflow == Overflow::slide) {
        // Room for the answer that was asked for, or a quarter of the context; never so much that little else fits.
        const uint32_t wanted = generation.options.max_tokens > 0 ? generation.options.max_tokens : context / 4;
        const size_t room = std::max(std::min<size_t>(wanted, context / 2),
                                     generation.answered.size() + least_room(*generation.config));
        prompt = CO_TRY(sliding_chat_prompt(*generation.tokenizer, conversation, render,
                                            context - std::min<size_t>(room, context), media));
    } else {
        prompt = CO_TRY(chat_prompt(*generation.tokenizer, conversation, render, media));
    }
    using Calls = infer::AnswerFormatOptions::Calls;
    const bool required = choice.kind == ToolChoice::Kind::required;
    if (prompted && required) {
        generation.content_form = CO_TRY(co_await prompted_call(choice, conversation, breathe_for(call)));
    }
    const bool demanded = required && !prompted;
    const bool forbidden = choice.kind == ToolChoice::Kind::none || conversation.tools.empty();
    const auto call_form =
        demanded ? CO_TRY(co_await demanded_call(choice, conversation, *generation.tokenizer, breathe_for(call)))
                 : nullptr;
    if (generation.content_form != nullptr || demanded) {
        generation.format.emplace(
            *generation.tokenizer, CO_TRY(open.model->token_texts()),
            infer::AnswerFormatOptions{
                .content = generation.content_form,
                .call = call_form,
                .calls = demanded ? Calls::required : (forbidden ? Calls::forbidden : Calls::possible),
                .thoughts = thinking,
                .start = prompt.end});
    }
    if (choice.kind == ToolChoice::Kind::none) {
        if (const auto opener = infer::find_marker(*generation.tokenizer, chat::kCallOpen)) {
            generation.options.sampling.logit_bias[*opener] = -std::numeric_limits<float>::infinity();
        }
    }
    CO_TRY(catch_up(generation));

    infer::ChatAnswer answer(
        generation.tokenizer, {.turns = turns, .start = prompt.end, .thinking = thinking, .tools = conversation.tools},
        generation.args.stop, [&](const chat::Event& event) { tell_event(call, generation, event); });
    answer.set_silent(true);
    for (const int32_t token : generation.answered) answer.feed(token);
    answer.set_silent(false);
    if (answer.stopped()) co_return complete_already();
    listen(generation, [&](int32_t token) {
        // Scores are told with the content their tokens made; those of thoughts, calls and marks are not told.
        if (!answer.is_content(token)) generation.scores.clear();
        if (generation.args.report_tokens) emit(call, TokensEvent{.tokens = {token}});
        answer.feed(token);
        return !answer.stopped();
    });
    if (has_everything() && generation.args.drafts) {
        generation.listener.on_draft = [&](const infer::CanvasDraft& draft) {
            emit(call, draft_event(draft, generation.listener.is_end,
                                   [&](auto tokens, auto& ends) { return answer.draft(tokens, ends); }));
        };
    }
    const bool room = CO_TRY(fit(generation, prompt.prompt, context));
    const auto stats = room ? CO_TRY(co_await open.session->generate(std::move(prompt.prompt), generation.options,
                                                                     generation.listener, breathe_for(call)))
                            : no_room(prompt.prompt, generation);
    CO_TRY(generation.kept);
    answer.finish();
    SessionGenerateResult out = result_of(stats, generation.options.sampling.seed);
    if (!answer.tool_calls().empty() && !answer.cut()) out.finish_reason = "tool_calls";
    if (answer.stopped_by()) out.stopped_by = int64_t(*answer.stopped_by());
    out.text = answer.content();
    out.message = message_of(answer);
    if (generation.overflow == Overflow::slide) out.dropped_messages = prompt.dropped_messages;
    co_return reply(out);
}

}  // namespace lapidary::api
