#include "infer/embedding.h"

#include <cmath>

#include "kernels/embed/embed_ops.h"

namespace lapidary::infer {

void gather(kernels::Program& program, const kernels::Weights& table, gpu::Tensor ids, uint32_t rows, float scale,
            gpu::Tensor y) {
    for (size_t i = 0; i < table.pieces.size(); ++i) {
        program.add(kernels::GatherRows{.w = table, .piece = i, .ids = ids, .y = y, .rows = rows, .scale = scale});
    }
}

void join_layer_inputs(kernels::Program& program, const GpuModel& model, const LayerInputs& t, uint32_t rows) {
    const model::Config& config = model.config();
    program.add(kernels::PerLayerInputs{
        .context = t.context,
        .tokens = t.tokens,
        .norm = program.floats(model.vector(model.table().per_layer_proj_norm), "per-layer norm"),
        .y = t.inputs,
        .width = config.per_layer_width,
        .layers = uint32_t(config.layers.size()),
        .rows = rows,
        .scale = 1.0f / std::sqrt(float(config.width)),
        .eps = config.norm_epsilon});
}

Embedded embed(kernels::Program& program, GpuOps& ops, const GpuModel& model, const SessionTensors& t, uint32_t rows,
               GpuAdapters* adapters) {
    const model::Config& config = model.config();
    const float scale = std::sqrt(float(config.width));
    const gpu::Tensor h = program.scratch("h", rows, config.width);
    gather(program, model.token_embd, t.ids, rows, scale, h);
    if (adapters != nullptr) adapters->add_embedding(program, t.ids, scale, h, rows);
    return embed_soft(program, ops, model, t, h, rows);
}

Embedded embed_soft(kernels::Program& program, GpuOps& ops, const GpuModel& model, const SessionTensors& t,
                    gpu::Tensor h, uint32_t rows) {
    const model::Config& config = model.config();
    if (config.per_layer_width == 0) return {.h = h};
    const uint64_t width = config.per_layer_width * config.layers.size();
    kernels::Weights table = model.per_layer_token_embd;
    // A small table of the rows that are needed, in the order of the tokens.
    const bool streams = model.per_layer_rows != nullptr;
    if (streams) table.pieces.push_back({.binding = t.table_rows.at, .rows = kMaxBlock});
    const gpu::Tensor token_inputs = program.scratch("per-layer token inputs", rows, width);
    gather(program, table, streams ? t.row_ids : t.ids, rows, std::sqrt(float(config.per_layer_width)), token_inputs);
    const gpu::Tensor context = program.scratch("per-layer context", rows, width);
    ops.multiply(model.per_layer_model_proj, h, context);
    const gpu::Tensor inputs = program.scratch("per-layer inputs", rows, width);
    join_layer_inputs(program, model, {.context = context, .tokens = token_inputs, .inputs = inputs}, rows);
    return {.h = h, .inputs = inputs};
}

}  // namespace lapidary::infer
