// data.*: arguments and results.
#pragma once

#include "api/messages/common.h"
#include "train/data.h"

namespace lapidary::api {

inline constexpr int64_t kMaxPreviewExamples = 100;
inline constexpr int64_t kMaxPreviewTokens = 4096;

struct DataArgs {
    Id data = 0;
};
ARGUMENTS(DataArgs, MEMBER(data, "its number"));

struct DataReadArgs {
    Id model = 0;
    std::string format = "auto";
    std::string split = "paragraphs";
    int64_t longest = 512;
    int64_t preview = 0;
};
ARGUMENTS(DataReadArgs, MEMBER(model, "whose tokens the examples are in"),
          MEMBER(format, "recognised by itself unless told").maybe().as("'auto' | 'jsonl' | 'json' | 'csv' | 'text'"),
          MEMBER(split, "how plain text becomes examples: at blank lines, unless told, or as one text cut into pieces")
              .maybe()
              .as("'paragraphs' | 'stream'"),
          MEMBER(longest, "tokens an example may have: 512 unless told").between(2, train::kMaxExampleTokens),
          MEMBER(preview, "how many examples to show").between(0, kMaxPreviewExamples));

struct DataError {
    int64_t line = 0;
    std::string message;
};
MESSAGE(DataError, MEMBER(line, "from 1"), MEMBER(message, "what is wrong there"));

struct ShownExample {
    int64_t line = 0;
    int64_t tokens = 0;
    std::vector<std::string> shown;
    std::vector<double> weights;
};
MESSAGE(ShownExample, MEMBER(line, "where it begins in the file"),
        MEMBER(tokens, "of the whole example; shown may be less"), MEMBER(shown, "the texts of its tokens"),
        MEMBER(weights, "how much each counts that the model predicts it: 0 for what is only read"));

struct DataReadResult {
    Id data = 0;
    std::string format;
    int64_t examples = 0;
    int64_t tokens = 0;
    int64_t learnt_tokens = 0;
    int64_t longest = 0;
    std::vector<std::string> questions;
    std::vector<DataError> errors;
    int64_t error_count = 0;
    std::vector<ShownExample> preview;
};
MESSAGE(DataReadResult, MEMBER(data, "the number by which other methods know it"),
        MEMBER(format, "that it has").as("'jsonl' | 'json' | 'csv' | 'text'"), MEMBER(examples, "how many"),
        MEMBER(tokens, "of all examples"),
        MEMBER(learnt_tokens, "those whose prediction counts: answers, or all of a text"),
        MEMBER(longest, "tokens of the longest example"),
        MEMBER(questions, "some of what the model shall answer, to try it with"),
        MEMBER(errors, "the first of them; lines without an error are used all the same"),
        MEMBER(error_count, "of all"), MEMBER(preview, "as many examples as were asked for"));

struct DataPreviewArgs {
    Id data = 0;
    int64_t first = 0;
    int64_t count = 5;
    int64_t tokens = kMaxPreviewTokens;
};
ARGUMENTS(DataPreviewArgs, MEMBER(data, "its number"),
          MEMBER(first, "example, from 0").between(0, int64_t(train::kMaxDataExamples)),
          MEMBER(count, "of examples: 5 unless told").between(0, kMaxPreviewExamples),
          MEMBER(tokens, "of each, at most").between(0, kMaxPreviewTokens));

struct DataPreviewResult {
    std::vector<ShownExample> preview;
};
MESSAGE(DataPreviewResult, MEMBER(preview, "the examples"));

}  // namespace lapidary::api
