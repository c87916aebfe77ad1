// Images and sounds in a text: rows that come from a tower, and whom they see.
#include <algorithm>

#include "base/edition.h"
#include "reference/forward.h"

namespace lapidary::reference {
namespace {

// Soft tokens that see nothing behind them go through the layers in blocks; those that see one another all together.
constexpr size_t kSoftBlock = 32;

}  // namespace

// No coroutine, so that the small edition has none of what stands behind it.
Task<Result<std::vector<float>>> Forward::run_soft(SoftTokens soft, LogitsWanted wanted, Breathe breathe) {
    if (!has_everything()) return Runner::run_soft(soft, wanted, std::move(breathe));
    return run_soft_blocks(soft, wanted, std::move(breathe));
}

Task<Result<std::vector<float>>> Forward::run_soft_blocks(SoftTokens soft, LogitsWanted wanted, Breathe breathe) {
    const size_t d = config_->width;
    if (soft.rows.empty() || soft.rows.size() % d != 0) {
        co_return fail(Code::invalid_argument, "{} numbers are no soft tokens of {}", soft.rows.size(), d);
    }
    const std::vector<int32_t> padding(soft.rows.size() / d, kPadToken);
    CO_TRY(check(padding));
    const uint32_t start = position_;
    const uint32_t end = start + uint32_t(padding.size());
    const size_t most = soft.sight == Sight::causal ? kSoftBlock : padding.size();
    std::vector<float> logits;
    while (position_ < end) {
        const size_t done = position_ - start;
        const size_t count = std::min(most, padding.size() - done);
        std::vector<Row> rows = next_rows(count);
        for (Row& row : rows) {
            if (soft.sight != Sight::causal) row.sliding_end = end;
            if (soft.sight == Sight::both_ways) row.end = end;
        }
        const auto block = soft.rows.subspan(done * d, count * d);
        const auto hidden =
            co_await run_rows({block.begin(), block.end()}, std::span(padding).first(count), rows, breathe);
        if (!hidden) {
            truncate(start);
            cache_.truncate(*config_, start);
            co_return std::unexpected(hidden.error());
        }
        add_logits(*hidden, wanted, position_ == end, logits);
    }
    co_return logits;
}

}  // namespace lapidary::reference
