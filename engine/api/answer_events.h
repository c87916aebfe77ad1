// What the host is told while an answer is written, and at its end.
#pragma once

#include <vector>

#include "api/args.h"
#include "infer/answer.h"
#include "infer/session.h"

namespace lapidary::api {

inline constexpr int64_t kMaxTopLogprobs = 20;

Json event_json(const chat::Event& event);
Json message_json(const infer::ChatAnswer& answer);
Json stats_json(const infer::GenerateStats& stats, uint64_t seed);

// [{token, text, bytes, logprob, top: [{token, text, bytes, logprob}]}]. `text` is what the token writes by itself:
// of a part of a character, U+FFFD; its bytes are in `bytes`.
Json scores_json(const tokenizer::Tokenizer& tokenizer, std::span<const sample::TokenScore> scores);

}  // namespace lapidary::api
