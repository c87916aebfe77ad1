#include "infer/canvas_tensors.h"

#include <algorithm>
#include <array>

namespace lapidary::infer {

Result<CanvasTensors> CanvasTensors::create(kernels::Resources& resources, const GpuModel& model) {
    const model::Config& config = model.config();
    const uint32_t length = config.diffusion->canvas;
    if (length < 2) return fail(Code::unsupported, "the GPU backend wants a canvas of more than one token");
    const auto tensor = [&](std::string_view label, uint32_t rows, uint64_t cols) -> Result<gpu::Tensor> {
        return gpu::rows_in(TRY(resources.buffer(rows * cols * sizeof(float), label)), rows, uint32_t(cols));
    };
    CanvasTensors t{.length = length,
                    .given = TRY(tensor("canvas given", 1, kernels::kCanvasGivenWords + 2 * length)),
                    .ids = TRY(tensor("canvas", length, 1)),
                    .places = TRY(tensor("canvas places", length, kernels::kCanvasPlaceWords)),
                    .tokens = TRY(tensor("canvas tokens", length, 2)),
                    .report = TRY(tensor("canvas report", 1, kernels::kCanvasReportWords + 4 * length))};
    const uint64_t row = uint64_t{config.vocabulary} * sizeof(float);
    const gpu::Info& info = resources.device().info();
    const uint64_t most = std::min(info.max_binding_bytes, info.max_buffer_bytes) / row;
    // Rows of x are bound by themselves, and kernels take them by fours.
    const auto rows_each = uint32_t(std::min<uint64_t>(length, most - most % 4));
    if (rows_each == 0) return fail(Code::unsupported, "the logits of a few tokens do not fit into a GPU binding");
    for (uint32_t first = 0; first < length; first += rows_each) {
        const uint32_t rows = std::min(rows_each, length - first);
        const std::array<uint32_t, 4> words = {0, rows, 0, 0};
        const gpu::Tensor step = TRY(tensor("canvas part", 1, words.size()));
        resources.device().write(step.at.buffer, step.at.offset,
                                 {reinterpret_cast<const uint8_t*>(words.data()), sizeof(words)});
        t.parts.push_back({.logits = {.logits = TRY(tensor("canvas logits", rows, config.vocabulary)),
                                      .first_row = first,
                                      .rows = rows},
                           .step = step});
    }
    return t;
}

}  // namespace lapidary::infer
