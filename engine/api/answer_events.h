// What the host is told while an answer is written, and at its end.
#pragma once

#include <vector>

#include "api/messages/generate.h"
#include "infer/answer.h"
#include "infer/session.h"

namespace lapidary::api {

AssistantMessage message_of(const infer::ChatAnswer& answer);
SessionGenerateResult result_of(const infer::GenerateStats& stats, uint64_t seed);

// `text` is what the token writes by itself: of a part of a character, U+FFFD; its bytes are in `bytes`.
std::vector<Logprob> logprobs(const tokenizer::Tokenizer& tokenizer, std::span<const sample::TokenScore> scores);

}  // namespace lapidary::api
