#include "train/session.h"

#include <algorithm>
#include <cmath>

#include "sample/random.h"
#include "train/checkpoint.h"
#include "train/sequence.h"

namespace lapidary::train {

Result<std::unique_ptr<Session>> Session::create(Settings settings, std::shared_ptr<const Examples> examples,
                                                 std::unique_ptr<Backend> backend, Clock clock) {
    TRY(check(settings));
    Batches batches = TRY(Batches::create(std::move(examples), settings));
    return std::unique_ptr<Session>(
        new Session(std::move(settings), std::move(batches), std::move(backend), std::move(clock)));
}

Session::Session(Settings settings, Batches batches, std::unique_ptr<Backend> backend, Clock clock)
    : settings_(std::move(settings)),
      batches_(std::move(batches)),
      backend_(std::move(backend)),
      clock_(std::move(clock)) {
    if (settings_.every == 0) settings_.every = std::max<uint64_t>(1, batches_.steps() / 10);
}

Task<Status> Session::run(Listener listener, Breathe breathe, std::function<bool()> stop) {
    while (true) {
        if (look_is_due()) CO_TRY(co_await look(listener, breathe));
        if (finished()) co_return Status{};
        if (stop && stop()) co_return fail(Code::cancelled, "stopped after step {}", step_);
        auto report = co_await one_step(breathe);
        if (!report) {
            backend_->forget_gradients();
            co_return std::unexpected(std::move(report).error());
        }
        look_ = {};
        if (listener.on_step) listener.on_step(*report);
    }
}

Task<Result<StepReport>> Session::one_step(const Breathe& breathe) {
    const double start = clock_();
    const std::vector<Sequence> sequences = batches_.step(step_);
    StepReport report{.step = step_ + 1,
                      .steps = batches_.steps(),
                      .epoch = step_ / batches_.steps_of_epoch() + 1,
                      .learning_rate = learning_rate(settings_, step_, batches_.steps())};
    double weight = 0;
    for (const Sequence& sequence : sequences) weight += weight_of(sequence);
    for (size_t i = 0; i < sequences.size(); ++i) {
        // Another seed for every sequence that is ever seen.
        const sample::Mixed key =
            sample::mix(uint32_t(settings_.seed) ^ uint32_t(i), uint32_t(settings_.seed >> 32), uint32_t(step_));
        const Dropout dropout{.probability = settings_.dropout, .seed = uint64_t(key.x) << 32 | key.y};
        report.loss += CO_TRY(co_await backend_->accumulate(sequences[i], weight, dropout, breathe)) / weight;
        report.tokens += sequences[i].tokens.size();
    }
    if (!std::isfinite(report.loss)) {
        co_return fail(
            Code::invalid_argument,
            "the loss of step {} is not a number. The learning rate of {} is likely too high: go on from the "
            "last checkpoint with a lower one",
            report.step, settings_.adamw.learning_rate);
    }
    AdamW adamw = settings_.adamw;
    adamw.learning_rate = report.learning_rate;
    report.gradient_norm = CO_TRY(co_await backend_->step(adamw));
    if (!std::isfinite(report.gradient_norm)) {
        co_return fail(
            Code::invalid_argument,
            "the gradients of step {} are not finite, and were not used. The learning rate of {} is likely too "
            "high: go on from the last checkpoint with a lower one",
            report.step, settings_.adamw.learning_rate);
    }
    ++step_;
    report.milliseconds = clock_() - start;
    co_return report;
}

bool Session::look_is_due() const {
    return !look_.done && (step_ % settings_.every == 0 || finished());
}

Task<Status> Session::look(const Listener& listener, const Breathe& breathe) {
    if (!look_.validated && batches_.validation_examples() > 0) {
        const std::vector<Sequence> sequences = batches_.validation();
        for (; look_.next < sequences.size(); ++look_.next) {
            look_.loss += CO_TRY(co_await backend_->evaluate(sequences[look_.next], breathe));
            look_.weight += weight_of(sequences[look_.next]);
        }
        if (listener.on_validation) listener.on_validation(step_, look_.loss / look_.weight);
    }
    look_.validated = true;
    if (listener.sample) CO_TRY(co_await listener.sample(step_));
    look_.done = true;
    co_return Status{};
}

Task<Result<Bytes>> Session::save() {
    Checkpoint checkpoint{.step = step_, .data = batches_.fingerprint()};
    checkpoint.adapter = CO_TRY(co_await backend_->adapter());
    checkpoint.moments = CO_TRY(co_await backend_->moments());
    co_return write_checkpoint(checkpoint);
}

Task<Status> Session::restore(std::span<const uint8_t> bytes) {
    const Checkpoint checkpoint = CO_TRY(read_checkpoint(bytes));
    if (checkpoint.data != batches_.fingerprint()) {
        co_return fail(
            Code::invalid_argument,
            "the checkpoint belongs to another data set, or to other settings of batch, sequence, validation "
            "or seed");
    }
    CO_TRY(co_await backend_->restore(checkpoint.adapter, checkpoint.moments));
    step_ = checkpoint.step;
    // What was to be seen at this step has been told when it was saved, unless nothing has happened yet.
    look_ = {.done = step_ > 0 && !finished()};
    co_return Status{};
}

}  // namespace lapidary::train
