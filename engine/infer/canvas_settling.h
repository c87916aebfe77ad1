// A canvas from noise to text: step after step, until it has settled or its steps are used up.
#pragma once

#include <functional>
#include <vector>

#include "model/canvas_runner.h"

namespace lapidary::infer {

// What is random about a step.
struct CanvasNumbers {
    std::vector<float> uniforms;  // in [0, 1)
    std::vector<uint32_t> noise;  // tokens
};

// A pure function of seed, position of the canvas and step; 0 is the canvas that the first step looks at.
CanvasNumbers canvas_numbers(uint64_t seed, uint32_t position, uint32_t step, uint32_t length, uint32_t vocabulary);

struct CanvasSettling {
    CanvasSettings settings;
    std::vector<int32_t> start;
    // Of the step that comes so many-th, from 1.
    std::function<Result<CanvasNumbers>(uint32_t step)> numbers;
    CanvasView view = CanvasView::outcome;
    std::function<void(uint32_t step, const CanvasOutcome&)> on_step;
};

struct SettledCanvas {
    std::vector<int32_t> tokens;
    uint32_t steps = 0;
    CanvasMargins margins;
};

// At the position where the canvas's runner is, which stays there.
Task<Result<SettledCanvas>> settle_canvas(CanvasRunner& canvas, CanvasSettling settling, Breathe breathe);

}  // namespace lapidary::infer
