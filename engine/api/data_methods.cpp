// data.*: a file of examples becomes a data set to train on.
#include "api/api.h"
#include "api/messages/data.h"
#include "train/data.h"

namespace lapidary::api {
namespace {

// How many examples, and how much of each.
struct PreviewSize {
    size_t first = 0;
    size_t examples = 0;
    size_t tokens = 0;
};

std::vector<ShownExample> preview_of(const OpenData& open, const PreviewSize& size) {
    std::vector<ShownExample> out;
    const train::DataSet& set = *open.set;
    for (size_t i = size.first; i < set.examples.size() && i < size.first + size.examples; ++i) {
        ShownExample& example = out.emplace_back();
        example.line = int64_t(set.lines[i]);
        example.tokens = int64_t(set.examples[i].tokens.size());
        for (train::PreviewToken& token : train::preview(*open.tokenizer, set.examples[i], size.tokens)) {
            example.shown.push_back(std::move(token.text));
            example.weights.push_back(token.weight);
        }
    }
    return out;
}

}  // namespace

Result<std::shared_ptr<const OpenData>> Api::data_of(Id data) const {
    const auto it = data_.find(data);
    if (it == data_.end()) return fail(Code::not_found, "there is no such data set: it was closed or never read");
    return it->second;
}

Task<Result<Reply>> Api::data_read(Call& call) {
    DataReadArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    train::DataOptions options;
    options.format = CO_TRY(train::data_format_from(args.format));
    options.split = CO_TRY(train::text_split_from(args.split));
    options.longest = uint32_t(args.longest);
    options.size = CO_TRY(model->config())->is_small() ? chat::ModelSize::small : chat::ModelSize::large;

    auto open = std::make_shared<OpenData>();
    open->tokenizer = CO_TRY(model->tokenizer());
    open->set = std::make_shared<const train::DataSet>(
        CO_TRY(co_await train::read_data(call.blob, *open->tokenizer, options, breathe_for(call))));
    const train::DataSet& set = *open->set;
    DataReadResult out{.data = ++last_id_,
                       .format = std::string(train::name_of(set.format)),
                       .examples = int64_t(set.examples.size()),
                       .tokens = int64_t(set.tokens),
                       .learnt_tokens = int64_t(set.learnt_tokens),
                       .longest = set.longest,
                       .questions = set.questions,
                       .error_count = int64_t(set.error_count),
                       .preview = preview_of(*open, {.examples = size_t(args.preview), .tokens = kMaxPreviewTokens})};
    for (const train::LineError& error : set.errors) {
        out.errors.push_back({.line = int64_t(error.line), .message = error.message});
    }
    data_.emplace(out.data, open);
    co_return reply(out);
}

Task<Result<Reply>> Api::data_preview(Call& call) {
    DataPreviewArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(data_of(args.data));
    const PreviewSize size{.first = size_t(args.first), .examples = size_t(args.count), .tokens = size_t(args.tokens)};
    co_return reply(DataPreviewResult{.preview = preview_of(*open, size)});
}

// A training that uses it goes on.
Task<Result<Reply>> Api::data_close(Call& call) {
    DataArgs args;
    CO_TRY(read_message(call.args, args));
    CO_TRY(data_of(args.data));
    data_.erase(args.data);
    co_return Reply{};
}

}  // namespace lapidary::api
