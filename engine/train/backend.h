// What training asks of a backend: losses and gradients of an adapter on a loaded model, and the optimizer's step.
// The CPU's is the slow, obvious one; the GPU's must agree with it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/task.h"
#include "lora/adapter.h"
#include "model/runner.h"

namespace lapidary::train {

// Tokens that go through the model at once: one example, or several short ones behind each other that do not see each
// other (each has positions of its own from 0 and attends to itself alone).
struct Sequence {
    std::vector<int32_t> tokens;
    std::vector<float>
        weights;  // [tokens]: how much predicting tokens[i + 1] from position i counts; 0 at an example's end
    std::vector<uint32_t> starts;  // where each example begins; the first is 0
};

// Drops inputs of A at random in training: which ones depends on the seed, the update and the position alone.
struct Dropout {
    float probability = 0;
    uint64_t seed = 0;
};

struct AdamW {
    float learning_rate = 1e-4f;
    float beta1 = 0.9f;
    float beta2 = 0.999f;
    float epsilon = 1e-8f;
    float weight_decay = 0.01f;
    float clip_norm = 1;  // of all gradients together; 0: no clipping
};

// Everything the optimizer has to remember, in the order of the adapter's updates: each A, then its B.
struct Moments {
    uint64_t step = 0;
    std::vector<float> first, second;
};

class Backend {
  public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    // Σ weights · cross entropy over the sequence, of the soft-capped logits. Adds to the gradients those of this sum
    // divided by `divisor`: the sum of the weights of everything that goes into one step.
    virtual Task<Result<double>> accumulate(const Sequence& sequence, double divisor, Dropout dropout,
                                            Breathe breathe) = 0;
    // The same sum, without dropout, gradients untouched.
    virtual Task<Result<double>> evaluate(const Sequence& sequence, Breathe breathe) = 0;

    // Clips the gradients, lets AdamW change the adapter, forgets the gradients. The norm they had before clipping; when
    // that is not a finite number nothing has changed but that they are forgotten.
    virtual Task<Result<double>> step(const AdamW& adamw) = 0;
    virtual void forget_gradients() = 0;

    // As training has left them. `gradients` has an Update for each of the adapter's, with dA and dB in a and b.
    virtual Task<Result<lora::Adapter>> adapter() = 0;
    virtual Task<Result<std::vector<lora::Update>>> gradients() = 0;
    virtual Task<Result<Moments>> moments() = 0;
    // Goes on from there: the adapter has the same updates as the one it was created with.
    virtual Task<Status> restore(const lora::Adapter& adapter, const Moments& moments) = 0;
};

}  // namespace lapidary::train
