// One row of a data set (a JSON object) or one text → examples.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/json.h"
#include "chat/render.h"
#include "tokenizer/tokenizer.h"
#include "train/example.h"

namespace lapidary::train {

struct RowOptions {
    uint32_t longest = 512;  // tokens an example may have
    chat::ModelSize size = chat::ModelSize::small;
};

struct RowExamples {
    std::vector<Example> examples;
    std::string question;  // of a chat that is one question and its answer; else empty
};

// Known rows:
//   {messages: [{role, content, …}], tools?}   a chat; what the assistant says is learnt, but not what a message with
//                                              weight 0 says
//   {prompt, completion, system?, tools?}      texts, or lists of messages; the completion is learnt
//   {instruction, input?, output, system?}     the output is learnt
//   {text}                                     all of it is learnt; the only one that becomes several examples
// each with a `weight` if it shall count more or less than others.
Result<RowExamples> examples_from_row(const chat::Json& row, const tokenizer::Tokenizer& tokenizer,
                                      const RowOptions& options);

// Whether a table with these columns has everything one of the known rows needs.
bool is_known_row(const std::vector<std::string>& columns);

// A text with its beginning and end, in as many pieces as it takes.
std::vector<Example> examples_from_text(std::string_view text, float weight, const tokenizer::Tokenizer& tokenizer,
                                        uint32_t longest);

// The same for tokens in the middle of a text: all count, and the beginning token goes first.
Example example_from_tokens(std::vector<int32_t> tokens, float weight, const tokenizer::Tokenizer& tokenizer);

}  // namespace lapidary::train
