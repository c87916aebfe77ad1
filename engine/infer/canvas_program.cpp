#include "infer/canvas_program.h"

#include <algorithm>
#include <cmath>

#include "infer/canvas_rule.h"
#include "infer/embedding.h"
#include "infer/grouped_ops.h"
#include "infer/head.h"
#include "kernels/gemm/batched_gemm.h"
#include "kernels/gemm/gemm_transposed.h"
#include "kernels/norm/add_rms_norm.h"

namespace lapidary::infer {
namespace {

using gpu::Tensor;

class CanvasStepRecorder {
  public:
    CanvasStepRecorder(kernels::Program& program, const CanvasRecording& recording)
        : program_(program),
          r_(recording),
          rows_(recording.canvas.length),
          ops_(program, recording.model, recording.session, recording.context, rows_, recording.adapters) {}

    void record(bool conditioned) {
        const Tensor signal = conditioned ? self_conditioning() : Tensor{};
        const Tensor embedded = program_.scratch("canvas embedded", rows_, config().width);
        const float scale = std::sqrt(float(config().width));
        gather(program_, r_.model.token_embd, r_.canvas.ids, rows_, scale, embedded);
        if (r_.adapters != nullptr) r_.adapters->add_embedding(program_, r_.canvas.ids, scale, embedded, rows_);
        const Tensor h = program_.scratch("h", rows_, config().width);
        program_.add(kernels::CanvasInput{.x = embedded,
                                          .signal = signal,
                                          .h = h,
                                          .cols = config().width,
                                          .rows = rows_,
                                          .eps = config().norm_epsilon});
        const LayerSource source{.config = config(),
                                 .table = r_.model.table(),
                                 .vector = [this](const model::Weight& weight) { return r_.model.vector(weight); }};
        run_layers(
            ops_, source, ops_.begin(h, {}),
            {.kv = r_.session.kv, .context = r_.context, .region = model::Region::canvas, .normed = r_.session.xn});
        for (const CanvasTensors::Part& part : r_.canvas.parts) logits(part);
        record_settling(program_, r_.canvas);
    }

  private:
    [[nodiscard]] const model::Config& config() const { return r_.model.config(); }

    void logits(const CanvasTensors::Part& part) {
        const auto [logits, first_row, rows] = part.logits;
        program_.count_rows_by(part.step);
        GpuOps ops(program_, r_.model, r_.session, r_.context, rows, r_.adapters);
        head(program_, ops, r_.model, r_.session.xn.row_range(first_row, rows), logits, rows);
        program_.count_rows_by(r_.session.step);
        record_places(program_, r_.canvas, part, config().vocabulary);
    }

    // down · (gelu(gate · m) ⊙ (up · m)), m = rms(√d · p · E)
    Tensor self_conditioning() {
        const uint32_t d = config().width;
        const Tensor soft = soft_embeddings();
        const Tensor m = program_.scratch("conditioning", rows_, d);
        const Norm norm = r_.model.vector(r_.model.table().self_conditioning.norm);
        // The √d of the embedding is left to the norm: it only moves its epsilon.
        program_.add(kernels::AddRmsNorm{.h = soft,
                                         .weights = program_.floats(kernels::joined({norm, {1.0f}}), "norms"),
                                         .y = m,
                                         .cols = d,
                                         .rows = rows_,
                                         .eps = config().norm_epsilon / float(d)});
        const Tensor ff = program_.scratch("conditioning ff", rows_, r_.model.self_conditioning.down.cols);
        ops_.multiply_gated(r_.model.self_conditioning.gate_up, m, ff);
        const Tensor signal = program_.scratch("conditioning signal", rows_, d);
        ops_.multiply(r_.model.self_conditioning.down, ff, signal);
        return signal;
    }

    // Σ_v p_v · E_v, a tile of the vocabulary at a time: all probabilities together would take as much memory as the logits.
    Tensor soft_embeddings() {
        if (ops_.is_adapted({.layer = 0, .which = Linear::token_embd})) {
            program_.refuse(
                Code::unsupported,
                "an adapter of the embedding cannot be used with a diffusion model on the GPU: its canvas is "
                "conditioned on a mean over all embeddings");
        }
        const kernels::Weights& table = r_.model.token_embd;
        const uint32_t d = config().width;
        const uint32_t widest = std::min<uint32_t>(kVocabularyTile, config().vocabulary);
        const uint32_t splits = splits_of(widest);
        const Tensor parts = program_.scratch("parts of soft embeddings", splits * rows_, d);
        bool add = false;
        for (const kernels::Weights::Piece& piece : table.pieces) {
            for (uint64_t at = 0; at < piece.rows; at += widest) {
                const auto count = uint32_t(std::min<uint64_t>(widest, piece.rows - at));
                add_tile(table, piece, at, count, {.parts = parts, .splits = splits, .add = add});
                add = true;
            }
        }
        const Tensor soft = program_.scratch("soft embeddings", rows_, d);
        program_.add(kernels::SumPartials{.partials = parts, .y = soft, .width = d, .rows = rows_, .count = splits});
        return soft;
    }

    // A product with few results and very long sums: enough workgroups for a large GPU come of dividing those.
    [[nodiscard]] uint32_t splits_of(uint32_t tile) const {
        constexpr uint32_t kTile = 64;           // of gemm_transposed
        constexpr uint32_t kWorkgroups = 1024;   // eight for each compute unit of an H200
        constexpr uint32_t kRowsOfASplit = 128;  // at least
        const uint32_t groups = ceil_div(config().width, kTile) * ceil_div(rows_, kTile);
        return std::clamp<uint32_t>(tile / kRowsOfASplit, 1, ceil_div(kWorkgroups, groups));
    }

    struct SoftSum {
        Tensor parts;
        uint32_t splits;
        bool add;  // to what the tile before left
    };

    void add_tile(const kernels::Weights& table, const kernels::Weights::Piece& piece, uint64_t at, uint32_t count,
                  const SoftSum& sum) {
        const uint64_t offset = kernels::gpu_bytes(table.format, at, table.cols);
        kernels::Weights tile = table;
        tile.rows = count;
        tile.pieces = {{.binding = {piece.binding.buffer, piece.binding.offset + offset,
                                    kernels::gpu_bytes(table.format, count, table.cols)},
                        .rows = count}};
        const uint32_t stride = (count + 3) / 4 * 4;  // gemm_transposed takes four at a time
        const Tensor p = program_.scratch("probabilities", rows_, stride);
        for (const CanvasTensors::Part& part : r_.canvas.parts) {
            program_.add(kernels::CanvasProbabilities{.given = r_.canvas.given,
                                                      .places = r_.canvas.places,
                                                      .of = part.logits,
                                                      .p = p,
                                                      .vocabulary = config().vocabulary,
                                                      .first = uint32_t(piece.first_row + at),
                                                      .tile = count});
        }
        program_.add(kernels::GemmTransposed{
            .w = tile, .dy = p, .dx = sum.parts, .w_rows = count, .rows = rows_, .add = sum.add, .splits = sum.splits});
    }

    kernels::Program& program_;
    const CanvasRecording& r_;
    uint32_t rows_;
    GroupedOps ops_;
};

}  // namespace

void record_canvas_step(kernels::Program& program, const CanvasRecording& recording, bool conditioned) {
    CanvasStepRecorder(program, recording).record(conditioned);
}

}  // namespace lapidary::infer
