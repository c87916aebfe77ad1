#include "infer/gpu_canvas.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "infer/canvas_program.h"
#include "infer/gpu_runner.h"

namespace lapidary::infer {
namespace {

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

void GpuPrograms::record_canvas_step(kernels::Program& program, bool conditioned) {
    infer::record_canvas_step(
        program,
        {.model = *model_, .session = t_, .canvas = *canvas_, .context = options_.context, .adapters = adapters_},
        conditioned);
}

Task<Result<gpu::Id>> GpuPrograms::canvas_step(bool conditioned, Cancel cancel) {
    auto& programs = adapters_ != nullptr ? adapters_->programs.canvas_steps : programs_.canvas_steps;
    if (const auto it = programs.find(conditioned); it != programs.end()) co_return it->second;
    kernels::Program program = begin(cancel);
    record_canvas_step(program, conditioned);
    const gpu::Id id = CO_TRY(co_await program.compile());
    if (conditioned) canvas_dispatches_ = program.labelled().size();
    programs.emplace(conditioned, id);
    co_return id;
}

const CanvasTensors& GpuCanvas::tensors() const {
    return *runner_.programs_->canvas_tensors();
}

uint32_t GpuCanvas::length() const {
    return tensors().length;
}

Status GpuCanvas::replace(std::span<const int32_t> ids) {
    if (ids.size() != length()) {
        return fail(Code::invalid_argument, "a canvas of this model has {} tokens, not {}", length(), ids.size());
    }
    TRY(runner_.check(ids));
    runner_.programs_->device().write(tensors().ids.at.buffer, 0,
                                      {reinterpret_cast<const uint8_t*>(ids.data()), ids.size_bytes()});
    return {};
}

Status GpuCanvas::begin(std::span<const int32_t> ids) {
    TRY(replace(ids));
    temperature_ = 0;
    return {};
}

// As lib/canvas.wgsl has it.
void GpuCanvas::write_given(const CanvasStep& step) {
    const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
    std::vector<uint32_t> words = {bits(step.temperature),
                                   bits(temperature_),
                                   bits(step.settings.entropy_bound),
                                   bits(step.settings.confidence_threshold),
                                   step.settings.stability_threshold,
                                   temperature_ == 0 ? 1u : 0u,
                                   0,
                                   0};
    for (const float uniform : step.uniforms) words.push_back(bits(uniform));
    words.insert(words.end(), step.noise.begin(), step.noise.end());
    runner_.programs_->device().write(
        tensors().given.at.buffer, 0,
        {reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(uint32_t)});
}

Task<Result<CanvasOutcome>> GpuCanvas::step(CanvasStep step, CanvasView view, Breathe /*breathe*/) {
    GpuPrograms& programs = *runner_.programs_;
    const uint32_t n = length();
    if (n > runner_.context() - runner_.position_) {
        co_return fail(Code::limit, "a canvas of {} tokens does not fit: the context holds {} and {} are in use", n,
                       runner_.context(), runner_.position_);
    }
    const gpu::Id program = CO_TRY(co_await programs.canvas_step(temperature_ != 0, {}));
    write_given(step);
    programs.write_step(runner_.position_, n);
    programs.device().run(program);
    // Its keys and values lie behind the prompt's until something else is stored there.
    runner_.furthest_ = std::max(runner_.furthest_, runner_.position_ + n);
    temperature_ = step.temperature;

    constexpr size_t kHead = kernels::kCanvasReportWords;
    const size_t lists = view == CanvasView::outcome ? 0 : view == CanvasView::draft ? 2 : 4;
    const auto bytes =
        CO_TRY(co_await programs.device().read(tensors().report.at.buffer, 0, (kHead + lists * n) * 4, {}));
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
        out.canvas_in = words_of<int32_t>(bytes, kHead + 2 * size_t{n}, n);
        out.entropy = words_of<float>(bytes, kHead + 3 * size_t{n}, n);
    }
    co_return out;
}

Task<Result<std::vector<int32_t>>> GpuCanvas::result() {
    constexpr uint64_t kAt = uint64_t{kernels::kCanvasReportWords} * 4;
    const auto bytes =
        CO_TRY(co_await runner_.programs_->device().read(tensors().report.at.buffer, kAt, uint64_t{length()} * 4, {}));
    co_return words_of<int32_t>(bytes, 0, length());
}

Task<Result<std::vector<float>>> GpuCanvas::logits() {
    std::vector<float> out;
    for (const CanvasTensors::Part& part : tensors().parts) {
        const size_t count = size_t{part.logits.rows} * runner_.vocabulary();
        const auto bytes = CO_TRY(
            co_await runner_.programs_->device().read(part.logits.logits.at.buffer, 0, count * sizeof(float), {}));
        const auto rows = words_of<float>(bytes, 0, count);
        out.insert(out.end(), rows.begin(), rows.end());
    }
    co_return out;
}

size_t GpuCanvas::dispatches() const {
    return runner_.programs_->canvas_dispatches();
}

Task<Result<double>> GpuCanvas::time_step(uint32_t repeat, Cancel cancel) {
    const gpu::Id program = CO_TRY(co_await runner_.programs_->canvas_step(true, cancel));
    runner_.programs_->write_step(runner_.position_, length());
    const double nanoseconds = CO_TRY(co_await runner_.programs_->device().time(program, repeat, cancel));
    co_return nanoseconds / 1e6 / repeat;
}

}  // namespace lapidary::infer
