#include "infer/canvas_tensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace lapidary::infer {
namespace {

constexpr size_t kHead = kernels::kCanvasReportWords;
constexpr float kNoMargin = 1e38f;  // the kernels' word for infinity is above

template <class T>
std::vector<T> words_of(std::span<const uint8_t> bytes, size_t first, size_t count) {
    std::vector<T> out(count);
    std::memcpy(out.data(), bytes.data() + first * sizeof(T), count * sizeof(T));
    return out;
}

float margin(uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    return value > kNoMargin ? std::numeric_limits<float>::infinity() : value;
}

}  // namespace

Result<CanvasTensors> CanvasTensors::create(kernels::Resources& resources, uint32_t length, uint32_t vocabulary) {
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
    const uint64_t row = uint64_t{vocabulary} * sizeof(float);
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
        t.parts.push_back(
            {.logits = {.logits = TRY(tensor("canvas logits", rows, vocabulary)), .first_row = first, .rows = rows},
             .step = step});
    }
    return t;
}

Status CanvasTensors::write_ids(gpu::Device& device, std::span<const int32_t> of_canvas) const {
    if (of_canvas.size() != length) {
        return fail(Code::invalid_argument, "a canvas of this model has {} tokens, not {}", length, of_canvas.size());
    }
    device.write(ids.at.buffer, 0, {reinterpret_cast<const uint8_t*>(of_canvas.data()), of_canvas.size_bytes()});
    return {};
}

// As lib/canvas.wgsl has it.
void CanvasTensors::write_given(gpu::Device& device, const CanvasStep& step, float previous_temperature) const {
    const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
    std::vector<uint32_t> words = {bits(step.temperature),
                                   bits(previous_temperature),
                                   bits(step.settings.entropy_bound),
                                   bits(step.settings.confidence_threshold),
                                   step.settings.stability_threshold,
                                   previous_temperature == 0 ? 1u : 0u,
                                   0,
                                   0};
    for (const float uniform : step.uniforms) words.push_back(bits(uniform));
    words.insert(words.end(), step.noise.begin(), step.noise.end());
    device.write(given.at.buffer, 0, {reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(uint32_t)});
}

Task<Result<CanvasOutcome>> CanvasTensors::read_outcome(gpu::Device& device, CanvasView view) const {
    const size_t n = length;
    const size_t lists = view == CanvasView::outcome ? 0 : view == CanvasView::draft ? 2 : 4;
    const auto bytes = CO_TRY(co_await device.read(report.at.buffer, 0, (kHead + lists * n) * 4, {}));
    const auto head = words_of<uint32_t>(bytes, 0, kHead);
    CanvasOutcome out{.stable = head[0] != 0,
                      .confident = head[1] != 0,
                      .accepted = head[2],
                      .mean_entropy = std::bit_cast<float>(head[3]),
                      .margins = {.argmax = margin(head[4]),
                                  .draw = margin(head[5]),
                                  .acceptance = margin(head[6]),
                                  .confidence = margin(head[7])}};
    if (!std::isfinite(out.mean_entropy)) co_return fail(Code::internal, "the GPU's logits are not numbers");
    if (lists >= 2) {
        out.argmax = words_of<int32_t>(bytes, kHead, n);
        for (const uint32_t accepted : words_of<uint32_t>(bytes, kHead + n, n)) out.accept.push_back(uint8_t(accepted));
    }
    if (lists >= 4) {
        out.canvas_in = words_of<int32_t>(bytes, kHead + 2 * n, n);
        out.entropy = words_of<float>(bytes, kHead + 3 * n, n);
    }
    co_return out;
}

Task<Result<std::vector<int32_t>>> CanvasTensors::read_argmax(gpu::Device& device) const {
    const auto bytes = CO_TRY(co_await device.read(report.at.buffer, kHead * 4, uint64_t{length} * 4, {}));
    co_return words_of<int32_t>(bytes, 0, length);
}

}  // namespace lapidary::infer
