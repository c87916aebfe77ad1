// Linear layers with their weights loaded: what towers are made of on the CPU.
#pragma once

#include "model/runner.h"
#include "towers/bounds.h"

namespace lapidary::towers {

using reference::Matrix;

struct ClippedMatrix {
    Matrix matrix;
    Bounds bounds;
};

Result<ClippedMatrix> loaded(const Linear& linear, const reference::Weights& weights);

// x: [t, cols] → [t, rows]; clamp(W · clamp(x)). Lets the host breathe after every few rows.
Task<Result<std::vector<float>>> apply(const ClippedMatrix& w, std::span<const float> x, Breathe breathe);
Task<Result<std::vector<float>>> apply(const Matrix& w, std::span<const float> x, Breathe breathe);

// y[r, i] = (x[r, i] - mean) / sqrt(variance + eps) · w[i] + b[i], rows of w.size(); b may be empty.
void layer_norm(std::span<float> x, std::span<const float> w, std::span<const float> b, float eps);

// Called with what a tower has after each of its steps, by the names that the expected values have.
using Trace = std::function<void(std::string_view name, std::span<const float> rows)>;

// What a long computation tells and asks while it runs.
struct Listener {
    Breathe breathe;
    reference::Progress progress;  // layers
    Trace trace;

    void tell(std::string_view name, std::span<const float> rows) const {
        if (trace) trace(name, rows);
    }
};

}  // namespace lapidary::towers
