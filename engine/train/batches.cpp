#include "train/batches.h"

#include <algorithm>
#include <cmath>

#include "base/checksum.h"
#include "sample/random.h"

namespace lapidary::train {
namespace {

// The same items in an order that depends on the two numbers alone.
void shuffle(std::vector<uint32_t>& items, uint64_t seed, uint64_t round) {
    const sample::Mixed key = sample::mix(uint32_t(seed), uint32_t(seed >> 32), uint32_t(round));
    const uint64_t own = uint64_t(key.x) << 32 | key.y;
    for (size_t i = items.size(); i > 1; --i) {
        std::swap(items[i - 1], items[size_t(double(sample::uniform(own, uint32_t(i))) * double(i))]);
    }
}

uint64_t checksum_of(const Examples& examples, const Settings& settings) {
    Checksum sum;
    for (const Example& example : examples) {
        sum.add(uint64_t{example.tokens.size()});
        sum.add({reinterpret_cast<const uint8_t*>(example.tokens.data()), example.tokens.size() * sizeof(int32_t)});
        sum.add({reinterpret_cast<const uint8_t*>(example.weights.data()), example.weights.size() * sizeof(float)});
    }
    sum.add(uint64_t{settings.batch});
    sum.add(uint64_t{settings.accumulate});
    sum.add(uint64_t{settings.sequence});
    sum.add(uint64_t(double(settings.validation) * 1e6));
    sum.add(settings.seed);
    return sum.value();
}

}  // namespace

size_t Batches::tokens_of(uint32_t example) const {
    return std::min<size_t>((*examples_)[example].tokens.size(), sequence_);
}

Result<Batches> Batches::create(std::shared_ptr<const Examples> examples, const Settings& settings) {
    Batches out;
    out.examples_ = std::move(examples);
    out.per_step_ = uint32_t(std::min<uint64_t>(uint64_t(settings.batch) * settings.accumulate, UINT32_MAX));
    out.sequence_ = settings.sequence;
    out.seed_ = settings.seed;
    for (uint32_t i = 0; i < out.examples_->size(); ++i) {
        const Example& example = (*out.examples_)[i];
        if (example.weights.size() != example.tokens.size()) {
            return fail(Code::invalid_argument, "example {} has {} tokens and {} weights", i + 1, example.tokens.size(),
                        example.weights.size());
        }
        if (example.tokens.size() > settings.sequence) {
            if (!settings.cut) {
                return fail(Code::limit, "example {} has {} tokens: a sequence holds {}", i + 1, example.tokens.size(),
                            settings.sequence);
            }
            ++out.cut_;
        }
        // The last token of what is left predicts nothing.
        const auto end = example.weights.begin() + ptrdiff_t(std::max<size_t>(out.tokens_of(i), 1) - 1);
        if (example.tokens.size() < 2 || std::none_of(example.weights.begin(), end, [](float w) { return w > 0; })) {
            continue;
        }
        out.training_.push_back(i);
    }
    if (out.training_.empty()) return fail(Code::invalid_argument, "there are no examples to learn from");
    if (settings.validation > 0) {
        if (out.training_.size() < 2) {
            return fail(Code::invalid_argument, "a single example cannot be divided into training and validation");
        }
        constexpr uint64_t kSplitRound = UINT32_MAX;  // no epoch has this number
        shuffle(out.training_, settings.seed, kSplitRound);
        const auto wanted = size_t(std::lround(double(settings.validation) * double(out.training_.size())));
        const size_t count = std::clamp<size_t>(wanted, 1, out.training_.size() - 1);
        out.validation_.assign(out.training_.end() - ptrdiff_t(count), out.training_.end());
        out.training_.resize(out.training_.size() - count);
        std::ranges::sort(out.training_);
        std::ranges::sort(out.validation_);
    }
    out.steps_ = out.steps_of_epoch() * settings.epochs;
    if (settings.steps > 0) out.steps_ = std::min(out.steps_, settings.steps);
    out.fingerprint_ = checksum_of(*out.examples_, settings);
    return out;
}

uint64_t Batches::steps_of_epoch() const {
    return (training_.size() + per_step_ - 1) / per_step_;
}

uint32_t Batches::longest() const {
    // Short examples share a sequence until the next would not fit.
    size_t one = 0;
    size_t all = 0;
    for (const auto* list : {&training_, &validation_}) {
        for (const uint32_t example : *list) {
            one = std::max(one, tokens_of(example));
            all += tokens_of(example);
        }
    }
    return uint32_t(std::clamp<size_t>(std::min<size_t>(sequence_, one * per_step_), one, std::max(one, all)));
}

std::vector<uint32_t> Batches::order_of(uint64_t epoch) const {
    std::vector<uint32_t> order = training_;
    shuffle(order, seed_, epoch);
    return order;
}

// Each example goes into the first sequence with room for it.
std::vector<Sequence> Batches::packed(std::span<const uint32_t> which) const {
    std::vector<Sequence> out;
    for (const uint32_t number : which) {
        const Example& example = (*examples_)[number];
        const size_t tokens = tokens_of(number);
        auto place =
            std::ranges::find_if(out, [&](const Sequence& s) { return s.tokens.size() + tokens <= sequence_; });
        if (place == out.end()) place = out.insert(out.end(), Sequence{});
        place->starts.push_back(uint32_t(place->tokens.size()));
        place->tokens.insert(place->tokens.end(), example.tokens.begin(), example.tokens.begin() + ptrdiff_t(tokens));
        place->weights.insert(place->weights.end(), example.weights.begin(),
                              example.weights.begin() + ptrdiff_t(tokens));
        place->weights.back() = 0;
    }
    return out;
}

std::vector<Sequence> Batches::step(uint64_t number) const {
    const uint64_t in_epoch = steps_of_epoch();
    const std::vector<uint32_t> order = order_of(number / in_epoch);
    const size_t first = size_t(number % in_epoch) * per_step_;
    return packed(std::span(order).subspan(first, std::min<size_t>(per_step_, order.size() - first)));
}

std::vector<Sequence> Batches::validation() const {
    return packed(validation_);
}

}  // namespace lapidary::train
