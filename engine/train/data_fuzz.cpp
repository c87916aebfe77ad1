// Arbitrary bytes as a data set. Whatever comes out has the shape that training relies on.
#include <algorithm>
#include <cmath>

#include "testing/fuzz.h"
#include "train/data.h"

namespace lapidary::train {
namespace {

using testing::check;

const tokenizer::Tokenizer& vocabulary() {
    static const auto tokenizer =
        *tokenizer::Tokenizer::create(testing::repository_header("models/storyteller-q4_k_m.gguf"));
    return *tokenizer;
}

void check_example(const Example& example, uint32_t longest) {
    check(example.tokens.size() >= 2 && example.tokens.size() <= longest);
    check(example.weights.size() == example.tokens.size());
    check(example.weights.back() == 0);
    check(example.tokens.front() == vocabulary().bos());
    check(std::ranges::all_of(example.tokens, [](int32_t id) { return vocabulary().is_valid(id); }));
    check(std::ranges::all_of(example.weights, [](float weight) { return std::isfinite(weight) && weight >= 0; }));
    check(preview(vocabulary(), example, longest).size() == example.tokens.size());
}

void fuzz(uint8_t bits, std::span<const uint8_t> file) {
    const DataOptions options{.format = DataFormat(bits % 5),
                              .split = (bits & 32) != 0 ? TextSplit::stream : TextSplit::paragraphs,
                              .longest = (bits & 64) != 0 ? 8u : 256u,
                              .size = (bits & 128) != 0 ? chat::ModelSize::large : chat::ModelSize::small};
    const auto no_wait = []() -> Task<Status> { co_return Status{}; };
    const auto set = *read_data(file, vocabulary(), options, no_wait).run_now();
    if (!set) return;
    check(set->lines.size() == set->examples.size());
    check(set->error_count >= set->errors.size());
    for (const Example& example : set->examples) check_example(example, options.longest);
    for (const LineError& error : set->errors) check(error.line >= 1 && !error.message.empty());
}

}  // namespace
}  // namespace lapidary::train

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 0) lapidary::train::fuzz(data[0], {data + 1, size - 1});
    return 0;
}
