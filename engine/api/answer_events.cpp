#include "api/answer_events.h"

namespace lapidary::api {
namespace {

Json logprob_json(const tokenizer::Tokenizer& tokenizer, const sample::TokenLogprob& entry) {
    std::string text;
    tokenizer.append_piece(entry.token, true, text);
    Json bytes = Json::array();
    for (const char c : text) bytes.push_back(uint8_t(c));
    return {{"token", entry.token}, {"text", std::move(text)}, {"bytes", std::move(bytes)}, {"logprob", entry.logprob}};
}

}  // namespace

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

Json scores_json(const tokenizer::Tokenizer& tokenizer, std::span<const sample::TokenScore> scores) {
    Json out = Json::array();
    for (const sample::TokenScore& score : scores) {
        Json entry = logprob_json(tokenizer, score.chosen);
        entry["top"] = Json::array();
        for (const sample::TokenLogprob& other : score.top) entry["top"].push_back(logprob_json(tokenizer, other));
        out.push_back(std::move(entry));
    }
    return out;
}

}  // namespace lapidary::api
