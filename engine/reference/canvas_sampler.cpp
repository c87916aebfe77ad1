#include "reference/canvas_sampler.h"

#include <cmath>
#include <numeric>

namespace lapidary::reference {
namespace {

// What the logits of one place say.
struct Place {
    int32_t best = 0;  // the first of the most likely tokens
    int32_t drawn = 0;
    double entropy = 0;
    CanvasMargins margins;
};

Place look_at(std::span<const float> logits, float temperature, float uniform) {
    Place out;
    for (size_t v = 1; v < logits.size(); ++v) {
        if (logits[v] > logits[size_t(out.best)]) out.best = int32_t(v);
    }
    const float most = logits[size_t(out.best)];
    for (size_t v = 0; v < logits.size(); ++v) {
        if (v != size_t(out.best)) out.margins.argmax = std::min(out.margins.argmax, most - logits[v]);
    }
    // p = softmax(logits / t), summed in the order of the tokens.
    double total = 0;
    for (const float z : logits) total += std::exp(double(z - most) / double(temperature));
    double sum = 0;
    bool drawn = false;
    for (size_t v = 0; v < logits.size(); ++v) {
        const double below = double(logits[v] - most) / double(temperature);
        const double p = std::exp(below) / total;
        if (p > 0) out.entropy -= p * (below - std::log(total));
        const double before = sum;
        sum += p;
        if (drawn || sum <= double(uniform)) continue;
        drawn = true;
        out.drawn = int32_t(v);
        out.margins.draw = float(std::min(double(uniform) - before, sum - double(uniform)));
    }
    // The sum of all may fall short of 1 by its rounding.
    if (!drawn) out.drawn = int32_t(logits.size()) - 1;
    return out;
}

}  // namespace

CanvasOutcome CanvasSampler::step(std::span<const float> logits, const CanvasStep& step, CanvasView view,
                                  std::vector<int32_t>& canvas) {
    const size_t length = canvas.size();
    const size_t vocabulary = logits.size() / length;
    CanvasOutcome out;
    std::vector<Place> places;
    std::vector<int32_t> argmax;
    for (size_t i = 0; i < length; ++i) {
        places.push_back(look_at(logits.subspan(i * vocabulary, vocabulary), step.temperature, step.uniforms[i]));
        argmax.push_back(places.back().best);
        out.margins.include(places.back().margins);
    }

    // The surest first; of equals the one further to the front. A place is accepted while the entropies before it are
    // within the bound, so the first always is.
    std::vector<size_t> order(length);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](size_t i) { return float(places[i].entropy); });
    std::vector<uint8_t> accept(length);
    float before = 0;
    for (const size_t i : order) {
        accept[i] = before <= step.settings.entropy_bound ? 1 : 0;
        out.margins.acceptance = std::min(out.margins.acceptance, std::abs(before - step.settings.entropy_bound));
        out.accepted += accept[i];
        before += float(places[i].entropy);
    }
    out.mean_entropy = before / float(length);
    out.margins.confidence = std::abs(out.mean_entropy - step.settings.confidence_threshold);
    out.confident = out.mean_entropy < step.settings.confidence_threshold;
    unchanged_ = argmax == argmax_ ? unchanged_ + 1 : 0;
    out.stable = unchanged_ >= step.settings.stability_threshold;
    argmax_ = argmax;

    if (view == CanvasView::everything) {
        out.canvas_in = canvas;
        for (const Place& place : places) out.entropy.push_back(float(place.entropy));
    }
    for (size_t i = 0; i < length; ++i) canvas[i] = accept[i] != 0 ? places[i].drawn : int32_t(step.noise[i]);
    if (view != CanvasView::outcome) {
        out.argmax = std::move(argmax);
        out.accept = std::move(accept);
    }
    return out;
}

}  // namespace lapidary::reference
