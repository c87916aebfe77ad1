// A data set: a file of examples as people have them → tokens with weights, ready to train on.
//
// What one line gets wrong costs that line only: it is left out, and an error says which line it was and why.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "chat/render.h"
#include "model/runner.h"
#include "tokenizer/tokenizer.h"
#include "train/example.h"

namespace lapidary::train {

inline constexpr uint64_t kMaxDataBytes = uint64_t{256} << 20;
inline constexpr uint64_t kMaxDataExamples = uint64_t{1} << 20;
inline constexpr uint64_t kMaxDataTokens = uint64_t{1} << 25;
inline constexpr uint32_t kMaxExampleTokens = uint32_t{1} << 17;
inline constexpr size_t kMaxKeptErrors = 1000;
inline constexpr size_t kMaxQuestions = 8;

enum class DataFormat : uint8_t {
    automatic,
    jsonl,  // an object a line
    json,   // a list of objects
    csv,    // a header that names the columns, then rows; with commas, semicolons or tabs
    text,   // just text
};
std::string_view name_of(DataFormat format);
Result<DataFormat> data_format_from(std::string_view name);

// How plain text becomes examples. Pieces that are too long are cut either way.
enum class TextSplit : uint8_t {
    paragraphs,  // blank lines lie between examples
    stream,      // one text, cut into pieces as long as an example may be
};
Result<TextSplit> text_split_from(std::string_view name);

struct DataOptions {
    DataFormat format = DataFormat::automatic;
    TextSplit split = TextSplit::paragraphs;
    uint32_t longest = 512;  // tokens an example may have
    chat::ModelSize size = chat::ModelSize::small;
};

struct LineError {
    uint64_t line = 0;  // from 1
    std::string message;
};

struct DataSet {
    DataFormat format = DataFormat::text;
    std::vector<Example> examples;
    std::vector<uint64_t> lines;         // where each of them begins in the file
    uint64_t tokens = 0;                 // of all examples
    uint64_t learnt_tokens = 0;          // those whose prediction counts
    uint32_t longest = 0;                // tokens of the longest example
    std::vector<std::string> questions;  // some of what the model shall answer: to try it with
    std::vector<LineError> errors;       // the first kMaxKeptErrors
    uint64_t error_count = 0;
};

// Fails when nothing of the file can be read at all: it is empty, too large or not a text. When every line is wrong
// the set has errors and no examples.
Task<Result<DataSet>> read_data(std::span<const uint8_t> file, const tokenizer::Tokenizer& tokenizer,
                                DataOptions options, Breathe breathe);

// What a file seems to be, from how it begins.
DataFormat recognise_format(std::string_view text);

// A token as a person sees it. A character made of several tokens is the text of the last of them.
struct PreviewToken {
    std::string text;
    float weight = 0;  // how much it counts that the model predicts this token
};
std::vector<PreviewToken> preview(const tokenizer::Tokenizer& tokenizer, const Example& example, size_t most);

}  // namespace lapidary::train
