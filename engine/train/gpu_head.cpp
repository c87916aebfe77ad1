#include "train/gpu_head.h"

#include <algorithm>

#include "kernels/gemm/gemm_transposed.h"
#include "kernels/train/copy_rows.h"

namespace lapidary::train {

GpuHead::GpuHead(const infer::GpuModel& model, const TrainTensors& t) {
    const kernels::Weights& head = model.head();
    const uint64_t row_bytes = kernels::gpu_bytes(head.format, 1, head.cols);
    for (size_t i = 0; i < head.pieces.size(); ++i) {
        const kernels::Weights::Piece& piece = head.pieces[i];
        for (uint64_t row = 0; row < piece.rows; row += t.tile_rows) {
            const uint64_t rows = std::min<uint64_t>(t.tile_rows, piece.rows - row);
            Tile tile{.w = head.piece(i),
                      .tokens = {.first = uint32_t(piece.first_row + row), .count = uint32_t(rows)}};
            tile.w.pieces[0].binding = {piece.binding.buffer, piece.binding.offset + row * row_bytes, rows * row_bytes};
            tiles_.push_back(std::move(tile));
        }
    }
}

void GpuHead::find_logits(const Recording& r, const Tile& tile) {
    kernels::Epilogue epilogue = kernels::Store{};
    if (const float cap = r.config().logit_softcap; cap > 0) epilogue = kernels::SoftcapBy{.cap = cap};
    r.program.add(kernels::Gemm{.w = tile.w,
                                .x = r.t.normed,
                                .y = r.t.logits,
                                .out = tile.tokens.count,
                                .rows = r.t.tokens,
                                .epilogue = epilogue});
}

void GpuHead::record_loss(const Recording& r, uint32_t tile) const {
    const TrainTensors& t = r.t;
    if (tile == 0) {
        r.program.add(kernels::CopyRows{
            .rows = t.rows, .x = t.h.back(), .y = t.picked, .cols = r.config().width, .count = t.tokens});
        r.norm({.x = t.picked, .weights = r.vector(r.model.table().output_norm), .y = t.normed});
    }
    find_logits(r, tiles_[tile]);
    r.program.add(kernels::CrossEntropy{
        .tile = tiles_[tile].tokens, .targets = t.targets, .logits = t.logits, .sums = t.sums, .rows = t.tokens});
}

void GpuHead::record_gradient(const Recording& r, uint32_t tile) const {
    const TrainTensors& t = r.t;
    const Tile& one = tiles_[tile];
    // Where there is but one tile its logits are still there.
    if (tiles_.size() > 1) find_logits(r, one);
    r.program.add(kernels::CrossEntropyBackward{.tile = one.tokens,
                                                .targets = t.targets,
                                                .sums = t.sums,
                                                .logits = t.logits,
                                                .rows = t.tokens,
                                                .cap = r.config().logit_softcap});
    r.program.add(kernels::GemmTransposed{.w = one.w,
                                          .dy = t.logits,
                                          .dx = t.dnormed,
                                          .w_rows = one.tokens.count,
                                          .rows = t.tokens,
                                          .add = one.tokens.first > 0});
    if (tile + 1 < tiles()) return;
    r.norm_backward({.x = t.picked,
                     .weights = r.vector(r.model.table().output_norm),
                     .dy = t.dnormed,
                     .dx = t.dpicked,
                     .scale = r.output_scale(uint32_t(r.config().layers.size()) - 1)});
    r.program.add(
        kernels::CopyRows{.rows = t.loss_rows, .x = t.dpicked, .y = t.dh, .cols = r.config().width, .count = t.tokens},
        t.step);
}

}  // namespace lapidary::train
