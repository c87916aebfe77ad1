#include "api/answer_events.h"

#include "api/canvas.h"
#include "base/edition.h"

namespace lapidary::api {
namespace {

TokenLogprob logprob(const tokenizer::Tokenizer& tokenizer, const sample::TokenLogprob& entry) {
    TokenLogprob out{.token = entry.token, .logprob = entry.logprob};
    tokenizer.append_piece(entry.token, true, out.text);
    for (const char c : out.text) out.bytes.push_back(uint8_t(c));
    return out;
}

}  // namespace

AssistantMessage message_of(const infer::ChatAnswer& answer) {
    AssistantMessage out{.content = answer.content()};
    if (!answer.reasoning().empty()) out.reasoning_content = answer.reasoning();
    std::vector<MessageToolCall> calls;
    for (const chat::Event& call : answer.tool_calls()) {
        calls.push_back({.id = call.id, .function = {.name = call.name, .arguments = call.arguments}});
    }
    if (!calls.empty()) out.tool_calls = written_list(calls);
    return out;
}

SessionGenerateResult result_of(const infer::GenerateStats& stats, uint64_t seed) {
    Json canvas;
    if (has_everything() && stats.canvases > 0) canvas = canvas_stats(stats);
    return {.finish_reason = stats.finish == infer::Finish::stop ? "stop" : "length",
            .prompt_tokens = stats.prompt_tokens,
            .cached_tokens = stats.cached_tokens,
            .completion_tokens = stats.completion_tokens,
            .prompt_ms = stats.prompt_ms,
            .completion_ms = stats.completion_ms,
            .seed = int64_t(seed),
            .canvas = std::move(canvas)};
}

std::vector<Logprob> logprobs(const tokenizer::Tokenizer& tokenizer, std::span<const sample::TokenScore> scores) {
    std::vector<Logprob> out;
    for (const sample::TokenScore& score : scores) {
        TokenLogprob chosen = logprob(tokenizer, score.chosen);
        Logprob& entry = out.emplace_back(Logprob{.token = chosen.token,
                                                  .text = std::move(chosen.text),
                                                  .bytes = std::move(chosen.bytes),
                                                  .logprob = chosen.logprob});
        for (const sample::TokenLogprob& other : score.top) entry.top.push_back(logprob(tokenizer, other));
    }
    return out;
}

}  // namespace lapidary::api
