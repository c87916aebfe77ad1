// A training: steps over a data set on a backend, told as they happen. It can stop at any step, be saved, and go on
// elsewhere with the same bits.
#pragma once

#include <functional>
#include <memory>

#include "base/byte_source.h"
#include "train/backend.h"
#include "train/batches.h"
#include "train/settings.h"

namespace lapidary::train {

struct StepReport {
    uint64_t step = 0;  // that was just done, from 1
    uint64_t steps = 0;
    uint64_t epoch = 0;  // from 1
    double loss = 0;     // mean over what counts, before the step
    float learning_rate = 0;
    double gradient_norm = 0;  // before clipping
    uint64_t tokens = 0;
    double milliseconds = 0;
};

struct Listener {
    std::function<void(const StepReport&)> on_step;
    std::function<void(uint64_t step, double loss)> on_validation;
    // Lets the model answer with the adapter as it is now.
    std::function<Task<Status>(uint64_t step)> sample;
};

class Session {
  public:
    using Clock = std::function<double()>;  // milliseconds

    static Result<std::unique_ptr<Session>> create(Settings settings, std::shared_ptr<const Examples> examples,
                                                   std::unique_ptr<Backend> backend, Clock clock);

    [[nodiscard]] const Batches& batches() const { return batches_; }
    [[nodiscard]] const Settings& settings() const { return settings_; }
    [[nodiscard]] Backend& backend() { return *backend_; }
    [[nodiscard]] uint64_t step() const { return step_; }
    [[nodiscard]] bool finished() const { return step_ >= batches_.steps(); }

    // Goes on until the end, or until `stop` says so between two steps (an error with the code `cancelled`). When
    // `breathe` fails in the middle of a step, that step is lost and nothing else. A loss or gradient that is no number
    // ends it with an explanation; the adapter is as it was before that step.
    Task<Status> run(Listener listener, Breathe breathe, std::function<bool()> stop);

    // Everything that is needed to go on: adapter, moments, step, settings. See checkpoint.h.
    Task<Result<Bytes>> save();
    Task<Status> restore(std::span<const uint8_t> bytes);

  private:
    Session(Settings settings, Batches batches, std::unique_ptr<Backend> backend, Clock clock);

    Task<Result<StepReport>> one_step(const Breathe& breathe);
    Task<Status> look(const Listener& listener, const Breathe& breathe);
    [[nodiscard]] bool look_is_due() const;

    Settings settings_;
    Batches batches_;
    std::unique_ptr<Backend> backend_;
    Clock clock_;
    uint64_t step_ = 0;
    // How far validation and samples of the current step have come: a run that is stopped within goes on there.
    struct Look {
        bool done = false;
        bool validated = false;
        size_t next = 0;
        double loss = 0;
        double weight = 0;
    } look_;
};

}  // namespace lapidary::train
