#include "infer/canvas_rule.h"

#include <cstring>

#include "infer/autotune.h"

namespace lapidary::infer {

void record_places(kernels::Program& program, const CanvasTensors& canvas, const CanvasTensors::Part& part,
                   uint32_t vocabulary) {
    program.add(kernels::CanvasPlaces{.given = canvas.given,
                                      .of = part.logits,
                                      .places = canvas.places,
                                      .tokens = canvas.tokens,
                                      .vocabulary = vocabulary});
}

void record_settling(kernels::Program& program, const CanvasTensors& canvas) {
    program.add(kernels::CanvasSettle{.given = canvas.given,
                                      .places = canvas.places,
                                      .tokens = canvas.tokens,
                                      .ids = canvas.ids,
                                      .report = canvas.report,
                                      .length = canvas.length});
}

Task<Result<std::unique_ptr<CanvasRule>>> CanvasRule::create(gpu::Device& device, uint32_t length, uint32_t vocabulary,
                                                             Cancel cancel) {
    std::unique_ptr<CanvasRule> out(new CanvasRule(device, wanted_variant(device.info())));
    out->tensors_ = CO_TRY(CanvasTensors::create(out->resources_, length, vocabulary));
    kernels::Program program(out->resources_, out->tensors_.parts.front().step, std::move(cancel));
    for (const CanvasTensors::Part& part : out->tensors_.parts) record_places(program, out->tensors_, part, vocabulary);
    record_settling(program, out->tensors_);
    out->program_ = CO_TRY(co_await program.compile());
    co_return out;
}

Status CanvasRule::begin(std::span<const int32_t> ids) {
    temperature_ = 0;
    return tensors_.write_ids(resources_.device(), ids);
}

Task<Result<CanvasOutcome>> CanvasRule::step(std::span<const float> logits, CanvasStep step) {
    gpu::Device& device = resources_.device();
    const size_t vocabulary = logits.size() / tensors_.length;
    for (const CanvasTensors::Part& part : tensors_.parts) {
        const auto rows = logits.subspan(part.logits.first_row * vocabulary, part.logits.rows * vocabulary);
        device.write(part.logits.logits.at.buffer, 0,
                     {reinterpret_cast<const uint8_t*>(rows.data()), rows.size_bytes()});
    }
    tensors_.write_given(device, step, temperature_);
    temperature_ = step.temperature;
    device.run(program_);
    co_return co_await tensors_.read_outcome(device, CanvasView::everything);
}

Task<Result<std::vector<int32_t>>> CanvasRule::canvas() {
    std::vector<int32_t> out(tensors_.length);
    const auto bytes = CO_TRY(co_await resources_.device().read(tensors_.ids.at.buffer, 0, out.size() * 4, {}));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    co_return out;
}

}  // namespace lapidary::infer
