// Texts → vectors: how a model reads texts for that, and what it makes of them.
#include <cstring>

#include "api/api.h"
#include "api/messages/model.h"
#include "api/messages/session.h"
#include "api/token_blob.h"
#include "base/edition.h"
#include "chat/embedding_tasks.h"

namespace lapidary::api {
namespace {

// Texts of so many tokens each; all of them are one text where no lengths are given.
Result<std::vector<std::vector<int32_t>>> texts_of(std::span<const int32_t> tokens, std::span<const int64_t> lengths) {
    std::vector<std::vector<int32_t>> texts;
    for (const int64_t length : lengths) {
        if (length < 1 || uint64_t(length) > tokens.size()) {
            return fail(Code::invalid_argument, "'lengths' does not fit the tokens: a text of {} where {} are left",
                        length, tokens.size());
        }
        texts.emplace_back(tokens.begin(), tokens.begin() + length);
        tokens = tokens.subspan(size_t(length));
    }
    if (lengths.empty()) {
        texts.emplace_back(tokens.begin(), tokens.end());
    } else if (!tokens.empty()) {
        return fail(Code::invalid_argument, "'lengths' does not fit the tokens: {} are left", tokens.size());
    }
    return texts;
}

// What stands before each text.
Result<std::string> prompt_of(const model::Config& config, std::string_view task, std::string_view title) {
    if (task.empty() && title.empty()) return std::string();
    if (!has_everything()) return fail(Code::needs_everything, "tasks are for models of embeddings");
    if (!config.embedding) {
        return fail(Code::invalid_argument,
                    "'task' is for models of embeddings, which were trained with one; this is a model of text");
    }
    return chat::embedding_prompt(task, title);
}

}  // namespace

// What somebody else wrote must not become special tokens here either.
Task<Result<Reply>> Api::model_embedding_input(Call& call) {
    ModelEmbeddingInputArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    const auto config = CO_TRY(model->config());
    const auto tokenizer = CO_TRY(model->tokenizer());
    const std::string prompt = CO_TRY(prompt_of(*config, args.task, args.title));
    // A model of embeddings reads the token that ends a text as well.
    const bool ends = has_everything() && config->embedding.has_value();
    const int32_t end = tokenizer->eos();
    std::string_view left(reinterpret_cast<const char*>(call.blob.data()), call.blob.size());
    std::vector<int32_t> all;
    ModelEmbeddingInputResult out;
    for (const int64_t length : args.lengths) {
        if (length < 0 || uint64_t(length) > left.size()) {
            co_return fail(Code::invalid_argument, "'lengths' does not fit the texts: {} where {} are left", length,
                           left.size());
        }
        const std::string text = prompt + std::string(left.substr(0, size_t(length)));
        left.remove_prefix(size_t(length));
        std::vector<int32_t> ids = tokenizer->encode(text, {.parse_special = false});
        if (ends) ids.push_back(end);
        out.whole.push_back(int64_t(ids.size()));
        if (args.most && int64_t(ids.size()) > *args.most) {
            ids.resize(size_t(*args.most));
            if (ends) ids.back() = end;
        }
        out.lengths.push_back(int64_t(ids.size()));
        all.insert(all.end(), ids.begin(), ids.end());
    }
    if (!left.empty()) {
        co_return fail(Code::invalid_argument, "'lengths' does not fit the texts: {} bytes are left", left.size());
    }
    co_return reply(out, to_blob(all));
}

// Float32 vectors, one behind the other.
Task<Result<Reply>> Api::session_embed(Call& call) {
    SessionEmbedArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(take_session(args.session));
    const std::vector<int32_t> tokens = CO_TRY(from_blob(call.blob));
    const std::vector<std::vector<int32_t>> texts = CO_TRY(texts_of(tokens, args.lengths));
    CO_TRY(co_await use_adapters(args.adapters, *open));
    const auto progress = progress_of(call);
    std::vector<std::vector<float>> vectors;
    CO_TRY(co_await open->session->embed(
        texts,
        [&](size_t, std::vector<float> vector) {
            vectors.push_back(std::move(vector));
            progress(vectors.size(), texts.size());
        },
        breathe_for(call)));
    const size_t width = vectors.front().size();
    Bytes bytes(vectors.size() * width * sizeof(float));
    for (size_t i = 0; i < vectors.size(); ++i) {
        std::memcpy(bytes.data() + i * width * sizeof(float), vectors[i].data(), width * sizeof(float));
    }
    co_return reply(
        SessionEmbedResult{.tokens = int64_t(tokens.size()), .texts = int64_t(vectors.size()), .width = int64_t(width)},
        std::move(bytes));
}

}  // namespace lapidary::api
