#include "lora/merge.h"

#include <algorithm>
#include <map>

namespace lapidary::lora {
namespace {

struct Term {
    const Update* update;
    float scale;
};

using Terms = std::map<std::string, std::vector<Term>, std::less<>>;

Result<Terms> terms_of(std::span<const Active> adapters, const model::WeightTable& table) {
    TRY(check_fits(adapters, table));
    Terms out;
    for (const Active& active : adapters) {
        for (const Update& update : active.adapter->updates) {
            if (!in_layer(update.target) && !table.output.present()) {
                return fail(
                    Code::unsupported,
                    "the adapter changes '{}', and this model's head is its embedding: it can be used, but not merged",
                    label_of(update));
            }
            // The name the file has for it, which may be another dialect's.
            out[weight_of(table, update.layer, update.target)->name].push_back({&update, active.scale * update.scale});
        }
    }
    return out;
}

// values: elements [first, first + n) of W [rows, cols] += scale · B·A
void add_product(const Term& term, uint64_t cols, uint64_t first, std::span<float> values) {
    const Update& update = *term.update;
    const bool embedding = update.target == Target::token_embd;
    const size_t rank = update.rank;
    for (size_t done = 0; done < values.size();) {
        const auto row = size_t((first + done) / cols);
        const auto column = size_t((first + done) % cols);
        const size_t count = std::min(size_t(cols) - column, values.size() - done);
        float* out = values.data() + done;
        for (size_t r = 0; r < rank; ++r) {
            // An embedding's update is (B·A)ᵀ, because tokens go in at A: a token's row is B times its column of A.
            const float amount = term.scale * (embedding ? update.a[r * update.in + row] : update.b[row * rank + r]);
            if (embedding) {
                for (size_t i = 0; i < count; ++i) out[i] += amount * update.b[(column + i) * rank + r];
            } else {
                const float* a = update.a.data() + r * update.in + column;
                for (size_t i = 0; i < count; ++i) out[i] += amount * a[i];
            }
        }
        done += count;
    }
}

}  // namespace

Task<Result<model::QuantizeReport>> merge(const gguf::File& file, const model::WeightTable& table,
                                          std::vector<Active> adapters, std::optional<quant::Mix> mix, ByteSink& sink,
                                          std::function<void(uint64_t done, uint64_t total)> progress, Cancel cancel,
                                          std::function<Task<Status>()> breathe) {
    const Terms terms = CO_TRY(terms_of(adapters, table));
    if (terms.empty()) co_return fail(Code::invalid_argument, "there is no adapter to merge");
    const model::WeightEdit edit{.touches = [&](std::string_view name) { return terms.contains(name); },
                                 .change =
                                     [&](std::string_view name, uint64_t first, std::span<float> values) {
                                         for (const Term& term : terms.find(name)->second) {
                                             const uint64_t cols = term.update->target == Target::token_embd
                                                                       ? term.update->out
                                                                       : term.update->in;
                                             add_product(term, cols, first, values);
                                         }
                                     }};
    co_return co_await model::rewrite(file, mix, edit, sink, std::move(progress), std::move(cancel),
                                      std::move(breathe));
}

}  // namespace lapidary::lora
