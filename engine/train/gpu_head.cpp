// From the last layer's output to the loss, and back to its gradient. Of the logits only a tile of the vocabulary exists
// at a time: the tiles come once for the sums, and once more for the gradient.
#include <algorithm>

#include "base/checked.h"
#include "kernels/matmul_tile.h"
#include "train/gpu_pass.h"

namespace lapidary::train {

std::vector<GpuPass::Tile> GpuPass::tiles() const {
    const GpuMatrix& head = model_->head();
    const uint64_t row_bytes = kernels::gpu_bytes(head.format, 1, head.cols);
    std::vector<Tile> out;
    for (const GpuMatrix::Piece& piece : head.pieces) {
        for (uint64_t row = 0; row < piece.rows; row += tile_rows_) {
            const uint64_t rows = std::min<uint64_t>(tile_rows_, piece.rows - row);
            out.push_back({.w = {piece.binding.buffer, piece.binding.offset + row * row_bytes, rows * row_bytes},
                           .first = uint32_t(piece.first_row + row),
                           .rows = uint32_t(rows)});
        }
    }
    return out;
}

void GpuPass::record_head(GpuRecorder& program, uint32_t index) {
    const std::vector<Tile> all = tiles();
    const bool back = index >= all.size();
    const Tile& tile = all[index % all.size()];
    const GpuMatrix& head = model_->head();
    const uint32_t d = config().width;
    const std::vector<float> weights = vector(model_->table().output_norm);
    const float cap = config().logit_softcap;
    const Binding about = program.keep(words_.put(std::array<uint32_t, 4>{tile.first, tile.rows, 0, 0}));
    if (index == 0) {
        program.add(kernels::kTakeRows, {{"kN", double(d)}}, {s_.head_step, s_.rows, h_.back(), s_.picked},
                    {ceil_div(d, 64), tokens(), 1});
        norm(program, {.x = s_.picked, .weights = weights, .y = s_.normed}, s_.head_step);
    }
    // Where there is but one tile its logits are still there.
    if (!back || all.size() > 1) {
        std::vector<gpu::Constant> constants = {{"kCols", double(head.cols)},
                                                {"kOut", double(tile.rows)},
                                                {"kYStride", double(tile_rows_)},
                                                {"kFinish", cap > 0 ? 3.0 : 0.0}};
        if (cap > 0) constants.push_back({"kCap", double(cap)});
        const auto shape =
            kernels::matmul_tile(tile.rows, tokens(), false, resources_.device().info().max_workgroup_bytes);
        shape.add_to(constants);
        program.add(kernels::kMatmul, constants, {s_.head_step, tile.w, s_.normed, s_.head_step, s_.logits},
                    {ceil_div(tokens(), shape.tokens()), ceil_div(tile.rows, shape.rows()), 1}, head.format);
    }
    if (!back) {
        return program.add(kernels::kCrossEntropy, {{"kStride", double(tile_rows_)}},
                           {s_.head_step, about, s_.targets, s_.logits, s_.sums}, {tokens(), 1, 1});
    }
    program.add(kernels::kCrossEntropyBack, {{"kStride", double(tile_rows_)}, {"kCap", double(cap)}},
                {s_.head_step, about, s_.targets, s_.sums, s_.logits}, {ceil_div(tile.rows, 64), tokens(), 1});
    program.add(kernels::kMatmulBack,
                {{"kCols", double(head.cols)},
                 {"kRows", double(tile.rows)},
                 {"kYStride", double(tile_rows_)},
                 {"kAdd", tile.first > 0 ? 1.0 : 0.0}},
                {s_.head_step, tile.w, s_.logits, s_.head_step, s_.dnormed},
                {ceil_div(head.cols, 64), ceil_div(tokens(), 64), 1}, head.format);
    if (index + 1 < 2 * all.size()) return;
    norm_back(program,
              {.base = s_.dnormed,
               .x = s_.picked,
               .weights = weights,
               .y = s_.dpicked,
               .scale = output_scale(uint32_t(config().layers.size()) - 1)},
              false, s_.head_step);
    return program.add(kernels::kTakeRows, {{"kN", double(d)}}, {s_.step, s_.places_of_rows, s_.dpicked, s_.dh},
                       {ceil_div(d, 64), tokens(), 1});
}

}  // namespace lapidary::train
