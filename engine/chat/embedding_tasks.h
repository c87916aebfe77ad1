// What EmbeddingGemma was trained to read: a text with words in front that say what its vector is for.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace lapidary::chat {

// What stands before a text for a task, by any of the task's names: "query", "document", "clustering" …, those of sentence
// transformers' prompts among them, in capitals or not. No task: nothing, so that the text is embedded as it is. A document
// may have a title.
Result<std::string> embedding_prompt(std::string_view task, std::string_view title = {});

// The tasks' own names, for help and errors.
std::string embedding_tasks();

}  // namespace lapidary::chat
