// Texts → vectors: what a model of embeddings is for, and the mean state that any other model can give instead.
#include <algorithm>

#include "reference/forward.h"
#include "reference/ops.h"

namespace lapidary::reference {
namespace {

// Tokens of several texts that go through the layers together. A text is never divided: its first token sees its last one.
constexpr size_t kTokensTogether = 256;

}  // namespace

Task<Status> Forward::embed(std::span<const std::vector<int32_t>> texts, OnEmbedded take, Breathe breathe) {
    truncate(0);
    for (const std::vector<int32_t>& text : texts) {
        if (text.empty()) co_return fail(Code::invalid_argument, "there are no tokens");
        CO_TRY(check(text));
    }
    for (size_t done = 0; done < texts.size();) {
        size_t end = done + 1;
        if (config_->embedding) {
            size_t tokens = texts[done].size();
            while (end < texts.size() && tokens + texts[end].size() <= kTokensTogether) tokens += texts[end++].size();
            Status status = co_await embed_block(texts.subspan(done, end - done), done, take, breathe);
            // Also after an error: layers before it have appended what `position_` does not count yet.
            position_ = 0;
            cache_.truncate(*config_, 0);
            CO_TRY(std::move(status));
        } else {
            auto mean = co_await mean_state(texts[done], breathe);
            truncate(0);
            take(done, CO_TRY(std::move(mean)));
        }
        done = end;
    }
    co_return Status{};
}

// One text behind the other; each sees itself, in both directions.
Task<Status> Forward::embed_block(std::span<const std::vector<int32_t>> texts, size_t first, const OnEmbedded& take,
                                  Breathe breathe) {
    std::vector<int32_t> tokens;
    std::vector<Row> rows;
    for (const std::vector<int32_t>& text : texts) {
        const auto begin = uint32_t(tokens.size());
        const uint32_t end = begin + uint32_t(text.size());
        for (uint32_t i = begin; i < end; ++i) rows.push_back({i - begin, i, begin, end});
        tokens.insert(tokens.end(), text.begin(), text.end());
    }
    const std::vector<float> states = normed(CO_TRY(co_await run_block(tokens, rows, std::move(breathe))));
    size_t at = 0;
    for (const std::vector<int32_t>& text : texts) {
        const size_t floats = text.size() * config_->width;
        take(first++, embedding_of(std::span(states).subspan(at, floats)));
        at += floats;
    }
    co_return Status{};
}

// dense_3 · (dense_2 · pooled)
std::vector<float> Forward::embedding_of(std::span<const float> states) const {
    trace("hidden", states);
    const size_t d = config_->width;
    const size_t tokens = states.size() / d;
    const model::Pooling pooling = config_->embedding->pooling;
    const size_t first = pooling == model::Pooling::last ? tokens - 1 : 0;
    const size_t end = pooling == model::Pooling::first ? 1 : tokens;
    std::vector<double> sum(d);
    for (size_t i = first * d; i < end * d; ++i) sum[i % d] += double(states[i]);
    std::vector<float> pooled(d);
    for (size_t i = 0; i < d; ++i) pooled[i] = float(sum[i] / double(end - first));
    trace("pooled", pooled);
    const std::vector<float> hidden = apply(table_->dense.first, pooled);
    trace("dense2", hidden);
    std::vector<float> embedding = apply(table_->dense.second, hidden);
    trace("dense3", embedding);
    return embedding;
}

Task<Result<std::vector<float>>> Forward::mean_state(std::span<const int32_t> tokens, Breathe breathe) {
    const size_t d = config_->width;
    std::vector<double> sum(d);
    CO_TRY(co_await run_blocks(
        tokens,
        [&](std::span<const float> hidden, bool /*last*/) {
            const std::vector<float> rows = normed(hidden);
            for (size_t i = 0; i < rows.size(); ++i) sum[i % d] += double(rows[i]);
        },
        std::move(breathe)));
    std::vector<float> mean(d);
    for (size_t i = 0; i < d; ++i) mean[i] = float(sum[i] / double(tokens.size()));
    co_return mean;
}

void Forward::trace(std::string_view stage, std::span<const float> values) const {
    if (embedding_trace_) embedding_trace_(stage, values);
}

}  // namespace lapidary::reference
