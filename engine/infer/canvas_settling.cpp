#include "infer/canvas_settling.h"

#include "sample/random.h"

namespace lapidary::infer {

CanvasNumbers canvas_numbers(uint64_t seed, uint32_t position, uint32_t step, uint32_t length, uint32_t vocabulary) {
    const sample::Mixed of_canvas = sample::mix(uint32_t(seed), uint32_t(seed >> 32), position);
    CanvasNumbers out;
    for (uint32_t i = 0; i < length; ++i) {
        const sample::Mixed words = sample::mix(of_canvas.x ^ step, of_canvas.y, of_canvas.z ^ i);
        out.uniforms.push_back(float(words.x >> 8) * 0x1p-24f);
        out.noise.push_back(uint32_t((uint64_t{words.y} * vocabulary) >> 32));
    }
    return out;
}

Task<Result<SettledCanvas>> settle_canvas(CanvasRunner& canvas, CanvasSettling settling, Breathe breathe) {
    CO_TRY(check(settling.settings));
    CO_TRY(canvas.begin(settling.start));
    SettledCanvas out;
    for (uint32_t remaining = settling.settings.max_steps; remaining > 0; --remaining) {
        const CanvasNumbers numbers = CO_TRY(settling.numbers(++out.steps));
        const float temperature = settling.settings.temperature(remaining);
        const CanvasOutcome outcome = CO_TRY(co_await canvas.step({.settings = settling.settings,
                                                                   .temperature = temperature,
                                                                   .uniforms = numbers.uniforms,
                                                                   .noise = numbers.noise},
                                                                  settling.view, breathe));
        out.margins.include(outcome.margins);
        if (settling.on_step) settling.on_step(out.steps, outcome);
        if (outcome.settled()) break;
        if (breathe) CO_TRY(co_await breathe());
    }
    out.tokens = CO_TRY(co_await canvas.result());
    co_return out;
}

}  // namespace lapidary::infer
