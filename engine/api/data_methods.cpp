// data.*: a file of examples becomes a data set to train on.
#include "api/api.h"
#include "train/data.h"

namespace lapidary::api {
namespace {

constexpr int64_t kDefaultLongest = 512;
constexpr int64_t kMaxPreviewExamples = 100;
constexpr int64_t kMaxPreviewTokens = 4096;

// How many examples, and how much of each.
struct PreviewSize {
    size_t first = 0;
    size_t examples = 0;
    size_t tokens = 0;
};

// [{line, tokens, shown: [text, …], weights: [number, …]}]: the weight of a text is how much it counts that the model
// predicts it.
Json preview_json(const OpenData& open, const PreviewSize& size) {
    Json out = Json::array();
    const train::DataSet& set = *open.set;
    for (size_t i = size.first; i < set.examples.size() && i < size.first + size.examples; ++i) {
        Json texts = Json::array();
        Json weights = Json::array();
        for (train::PreviewToken& token : train::preview(*open.tokenizer, set.examples[i], size.tokens)) {
            texts.push_back(std::move(token.text));
            weights.push_back(token.weight);
        }
        out.push_back({{"line", set.lines[i]},
                       {"tokens", set.examples[i].tokens.size()},
                       {"shown", std::move(texts)},
                       {"weights", std::move(weights)}});
    }
    return out;
}

}  // namespace

Result<std::shared_ptr<const OpenData>> Api::data_of(const Call& call, const char* name) const {
    const auto it = data_.find(TRY(call.args.id(name)));
    if (it == data_.end()) return fail(Code::not_found, "there is no such data set: it was closed or never read");
    return it->second;
}

// {model, format, split, longest, preview} + the file → {data, format, examples, tokens, learnt_tokens, longest, questions,
// errors: [{line, message}], error_count, preview}
Task<Result<Reply>> Api::data_read(Call& call) {
    const auto model = CO_TRY(model_of(call));
    train::DataOptions options;
    if (call.args.has("format")) options.format = CO_TRY(train::data_format_from(CO_TRY(call.args.string("format"))));
    if (call.args.has("split")) options.split = CO_TRY(train::text_split_from(CO_TRY(call.args.string("split"))));
    options.longest = uint32_t(CO_TRY(call.args.integer_or("longest", 2, train::kMaxExampleTokens, kDefaultLongest)));
    const auto shown = size_t(CO_TRY(call.args.integer_or("preview", 0, kMaxPreviewExamples, 0)));
    options.size = CO_TRY(model->config())->is_small() ? chat::ModelSize::small : chat::ModelSize::large;

    auto open = std::make_shared<OpenData>();
    open->tokenizer = CO_TRY(model->tokenizer());
    open->set = std::make_shared<const train::DataSet>(
        CO_TRY(co_await train::read_data(call.blob, *open->tokenizer, options, breathe_for(call))));
    const train::DataSet& set = *open->set;
    Json errors = Json::array();
    for (const train::LineError& error : set.errors) {
        errors.push_back({{"line", error.line}, {"message", error.message}});
    }
    Json preview = preview_json(*open, {.examples = shown, .tokens = kMaxPreviewTokens});
    const uint32_t id = ++last_id_;
    data_.emplace(id, open);
    co_return Reply{.json = {{"data", id},
                             {"format", std::string(train::name_of(set.format))},
                             {"examples", set.examples.size()},
                             {"tokens", set.tokens},
                             {"learnt_tokens", set.learnt_tokens},
                             {"longest", set.longest},
                             {"questions", set.questions},
                             {"errors", std::move(errors)},
                             {"error_count", set.error_count},
                             {"preview", std::move(preview)}}};
}

// {data, first, count, tokens} → {preview}
Task<Result<Reply>> Api::data_preview(Call& call) {
    const auto open = CO_TRY(data_of(call));
    PreviewSize size;
    size.first = size_t(CO_TRY(call.args.integer_or("first", 0, int64_t(train::kMaxDataExamples), 0)));
    size.examples = size_t(CO_TRY(call.args.integer_or("count", 0, kMaxPreviewExamples, 5)));
    size.tokens = size_t(CO_TRY(call.args.integer_or("tokens", 0, kMaxPreviewTokens, kMaxPreviewTokens)));
    co_return Reply{.json = {{"preview", preview_json(*open, size)}}};
}

// {data}. A training that uses it goes on.
Task<Result<Reply>> Api::data_close(Call& call) {
    CO_TRY(data_of(call));
    data_.erase(CO_TRY(call.args.id("data")));
    co_return Reply{};
}

}  // namespace lapidary::api
