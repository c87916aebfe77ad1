// How a canvas of tokens is settled: step by step, hotter first, each step keeping what the model is sure of.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace lapidary {

struct CanvasSettings {
    uint32_t max_steps = 48;
    float t_min = 0.4f;  // temperatures fall from t_max at the first step towards t_min
    float t_max = 0.8f;
    float entropy_bound = 0.1f;           // of all tokens that a step accepts but the least certain one, in nats
    uint32_t stability_threshold = 1;     // so many steps before must have had the same most likely tokens
    float confidence_threshold = 0.005f;  // and the mean entropy must be below this, to stop early

    // Of the step after which `remaining` - 1 are left.
    [[nodiscard]] float temperature(uint32_t remaining) const {
        return t_min + (t_max - t_min) * (float(remaining) / float(max_steps));
    }
};

inline constexpr uint32_t kMaxCanvasSteps = 1024;

inline Status check(const CanvasSettings& s) {
    constexpr float kMost = 100;
    if (s.max_steps < 1 || s.max_steps > kMaxCanvasSteps) {
        return fail(Code::invalid_argument, "'steps' must be between 1 and {}", kMaxCanvasSteps);
    }
    if (!(s.t_min > 0 && s.t_min <= s.t_max && s.t_max <= kMost)) {
        return fail(Code::invalid_argument, "'t_min' must be above 0, and 't_max' between it and {}", kMost);
    }
    if (!(s.entropy_bound >= 0 && s.entropy_bound <= 1e6f)) {
        return fail(Code::invalid_argument, "'entropy_bound' must be 0 or more");
    }
    if (s.stability_threshold > kMaxCanvasSteps) {
        return fail(Code::invalid_argument, "'stability_threshold' must be {} at most", kMaxCanvasSteps);
    }
    if (!(s.confidence_threshold >= 0 && s.confidence_threshold <= kMost)) {
        return fail(Code::invalid_argument, "'confidence_threshold' must be between 0 and {}", kMost);
    }
    return {};
}

}  // namespace lapidary
