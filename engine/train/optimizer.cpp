#include "train/optimizer.h"

#include <cmath>

namespace lapidary::train {

double adamw_step(const AdamW& adamw, std::span<const float> gradients, Moments& moments, std::span<float> parameters) {
    double squares = 0;
    for (const float g : gradients) squares += double(g) * double(g);
    const double norm = std::sqrt(squares);
    if (!std::isfinite(norm)) return norm;
    // The small number keeps a norm of 0 harmless, as everybody's implementation does.
    const bool clipped = adamw.clip_norm > 0 && norm > double(adamw.clip_norm);
    const float factor = clipped ? float(double(adamw.clip_norm) / (norm + 1e-6)) : 1.0f;

    ++moments.step;
    const double steps = double(moments.step);
    const double lr = double(adamw.learning_rate);
    // The moments begin at 0 and lean towards it at first.
    const auto step_size = float(lr / (1 - std::pow(double(adamw.beta1), steps)));
    const auto second_bias = float(std::sqrt(1 - std::pow(double(adamw.beta2), steps)));
    const auto keep = float(1 - lr * double(adamw.weight_decay));
    for (size_t i = 0; i < parameters.size(); ++i) {
        const float g = gradients[i] * factor;
        float& m = moments.first[i];
        float& v = moments.second[i];
        m = adamw.beta1 * m + (1 - adamw.beta1) * g;
        v = adamw.beta2 * v + (1 - adamw.beta2) * g * g;
        parameters[i] = parameters[i] * keep - step_size * m / (std::sqrt(v) / second_bias + adamw.epsilon);
    }
    return norm;
}

}  // namespace lapidary::train
