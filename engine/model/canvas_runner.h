// What a backend offers of a model that settles a canvas of tokens at a time, behind what its runner holds: all tokens of
// the canvas see one another and everything before them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/canvas_settings.h"
#include "model/runner.h"

namespace lapidary {

// One step of a canvas. Everything that is random is given: the same numbers make the same canvas everywhere.
struct CanvasStep {
    CanvasSettings settings;
    float temperature = 0;
    std::span<const float> uniforms;  // a token is drawn for each place: the first whose probabilities sum to more
    std::span<const uint32_t> noise;  // what places get whose tokens are not accepted
};

// How much of a step somebody wants to see.
enum class CanvasView : uint8_t {
    outcome,     // whether it settled
    draft,       // the most likely tokens too, and which were accepted
    everything,  // and what went in, and how certain each was
};

// How far the decisions of a step were from being others.
struct CanvasMargins {
    float argmax = std::numeric_limits<float>::infinity();      // the most likely token's logit above the next one's
    float draw = std::numeric_limits<float>::infinity();        // a uniform from either end of its token's interval
    float acceptance = std::numeric_limits<float>::infinity();  // a sum of entropies from the bound, in nats
    float confidence = std::numeric_limits<float>::infinity();  // the mean entropy from its threshold, in nats

    void include(const CanvasMargins& other) {
        argmax = std::min(argmax, other.argmax);
        draw = std::min(draw, other.draw);
        acceptance = std::min(acceptance, other.acceptance);
        confidence = std::min(confidence, other.confidence);
    }
};

struct CanvasOutcome {
    bool stable = false;
    bool confident = false;
    uint32_t accepted = 0;
    float mean_entropy = 0;  // in nats
    CanvasMargins margins;

    std::vector<int32_t> argmax;  // draft
    std::vector<uint8_t> accept;

    std::vector<int32_t> canvas_in;  // everything
    std::vector<float> entropy;

    [[nodiscard]] bool settled() const { return stable && confident; }
};

class CanvasRunner {
  public:
    CanvasRunner() = default;
    CanvasRunner(const CanvasRunner&) = delete;
    CanvasRunner& operator=(const CanvasRunner&) = delete;
    virtual ~CanvasRunner() = default;

    [[nodiscard]] virtual uint32_t length() const = 0;
    // A canvas of these tokens, at the position where the runner is.
    virtual Status begin(std::span<const int32_t> ids) = 0;
    // Looks at the canvas, knowing what the step before thought of its own, accepts what is certain, and makes the rest noise again. The runner stays where it is.
    virtual Task<Result<CanvasOutcome>> step(CanvasStep step, CanvasView view, Breathe breathe) = 0;
    // The most likely tokens of the last step: what the canvas becomes.
    virtual Task<Result<std::vector<int32_t>>> result() = 0;
    // Of the last step. [length, vocabulary]
    virtual Task<Result<std::vector<float>>> logits() = 0;
    // Other tokens in the canvas; what it is conditioned on stays.
    virtual Status replace(std::span<const int32_t> ids) = 0;
};

}  // namespace lapidary
