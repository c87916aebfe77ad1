#include "train/recording.h"

#include <cmath>

#include "kernels/gemm/gemm_transposed.h"
#include "kernels/train/rms_norm.h"

namespace lapidary::train {

using gpu::Tensor;
using kernels::Weights;

float Recording::output_scale(uint32_t layer) const {
    const std::vector<float> scale = vector(model.table().layers[layer].output_scale(model::Region::prompt));
    return scale.empty() ? 1.0f : scale[0];
}

kernels::GateFactors Recording::per_layer_inputs(uint32_t layer) const {
    const uint64_t at = uint64_t{config().per_layer_width} * layer;
    // Where a binding can begin with the layer's part, all layers share a pipeline.
    const bool binds = at * sizeof(float) % kernels::kBindingAlignment == 0;
    return {.factors = binds ? t.inputs.from(at) : t.inputs, .offset = binds ? 0 : at};
}

std::vector<float> Recording::router_norm(std::vector<float> router_scale) const {
    for (float& v : router_scale) v /= std::sqrt(float(config().width));
    return router_scale;
}

kernels::GroupedRows Recording::expert_rows(Tensor lists, uint32_t share) const {
    return {.lists = lists, .experts = config().experts.count, .max_rows = t.tokens, .share = share};
}

void Recording::multiply(const Weights& w, Tensor x, Columns y) const {
    for (size_t i = 0; i < w.pieces.size(); ++i) {
        const Weights piece = w.piece(i);
        program.add(kernels::Gemm{.w = piece,
                                  .x = x,
                                  .y = y.rows,
                                  .out = piece.pieces[0].rows,
                                  .y_offset = y.first + piece.pieces[0].first_row,
                                  .rows = t.tokens});
    }
}

void Recording::multiply_backward(const Weights& w, Columns dy, Tensor dx, bool add) const {
    for (size_t i = 0; i < w.pieces.size(); ++i) {
        const Weights piece = w.piece(i);
        program.add(kernels::GemmTransposed{.w = piece,
                                            .dy = dy.rows,
                                            .dx = dx,
                                            .w_rows = piece.pieces[0].rows,
                                            .dy_offset = dy.first + piece.pieces[0].first_row,
                                            .rows = t.tokens,
                                            .add = add || piece.pieces[0].first_row > 0});
    }
}

void Recording::multiply_experts(const Weights& w, const kernels::GroupedRows& rows, Tensor x, Tensor y) const {
    if (w.pieces.size() > 1) {
        return program.refuse(Code::unsupported, "the experts' weights of {} are larger than this GPU binds at once",
                              format_bytes(w.bytes()));
    }
    program.add(kernels::Gemm{
        .w = w, .x = x, .y = y, .out = w.rows / config().experts.count, .rows = t.tokens, .experts = rows});
}

void Recording::multiply_experts_backward(const Weights& w, const kernels::GroupedRows& rows, Tensor dy,
                                          Tensor dx) const {
    program.add(kernels::GemmTransposed{
        .w = w, .dy = dy, .dx = dx, .w_rows = w.rows / config().experts.count, .rows = t.tokens, .experts = rows});
}

void Recording::norm(Norm n) const {
    n.weights.push_back(n.scale);
    program.add(kernels::RmsNorm{.base = n.base,
                                 .x = n.x,
                                 .weights = program.floats(n.weights, "norm"),
                                 .y = n.y,
                                 .cols = config().width,
                                 .rows = t.tokens,
                                 .eps = config().norm_epsilon});
}

void Recording::norm_backward(NormBackward n) const {
    n.weights.push_back(n.scale);
    program.add(kernels::RmsNormBackward{.x = n.x,
                                         .weights = program.floats(n.weights, "norm"),
                                         .dy = n.dy,
                                         .dx = n.dx,
                                         .add = n.add,
                                         .cols = config().width,
                                         .rows = t.tokens,
                                         .eps = config().norm_epsilon});
}

}  // namespace lapidary::train
