#include "infer/gpu_canvas.h"

#include <cstring>
#include <functional>
#include <map>

#include "base/format.h"
#include "base/sort_few.h"
#include "infer/canvas_program.h"
#include "infer/gpu_runner.h"

namespace lapidary::infer {

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
    if (conditioned && adapters_ == nullptr) canvas_commands_ = program.labelled();
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
    TRY(runner_.check(ids));
    return tensors().write_ids(runner_.programs_->device(), ids);
}

Status GpuCanvas::begin(std::span<const int32_t> ids) {
    TRY(replace(ids));
    temperature_ = 0;
    return {};
}

Task<Result<CanvasOutcome>> GpuCanvas::step(CanvasStep step, CanvasView view, Breathe /*breathe*/) {
    GpuPrograms& programs = *runner_.programs_;
    const uint32_t n = length();
    if (n > runner_.context() - runner_.position_) {
        co_return fail(Code::limit, "a canvas of {} tokens does not fit: the context holds {} and {} are in use", n,
                       runner_.context(), runner_.position_);
    }
    const gpu::Id program = CO_TRY(co_await programs.canvas_step(temperature_ != 0, {}));
    tensors().write_given(programs.device(), step, temperature_);
    programs.write_step(runner_.position_, n);
    programs.device().run(program);
    // Its keys and values lie behind the prompt's until something else is stored there.
    runner_.furthest_ = std::max(runner_.furthest_, runner_.position_ + n);
    temperature_ = step.temperature;
    co_return co_await tensors().read_outcome(programs.device(), view);
}

Task<Result<std::vector<int32_t>>> GpuCanvas::result() {
    co_return co_await tensors().read_argmax(runner_.programs_->device());
}

Task<Result<std::vector<float>>> GpuCanvas::logits() {
    std::vector<float> out;
    for (const CanvasTensors::Part& part : tensors().parts) {
        const size_t count = size_t{part.logits.rows} * runner_.vocabulary();
        const auto bytes = CO_TRY(
            co_await runner_.programs_->device().read(part.logits.logits.at.buffer, 0, count * sizeof(float), {}));
        out.resize(out.size() + count);
        std::memcpy(out.data() + out.size() - count, bytes.data(), count * sizeof(float));
    }
    co_return out;
}

size_t GpuCanvas::dispatches() const {
    return runner_.programs_->canvas_commands().size();
}

Task<Result<std::vector<KernelTime>>> GpuCanvas::profile_step(Cancel cancel) {
    constexpr uint32_t kRepeat = 5;
    CO_TRY(co_await runner_.programs_->canvas_step(true, cancel));
    gpu::Device& device = runner_.programs_->device();
    runner_.programs_->write_step(runner_.position_, length());
    std::map<std::string, KernelTime> times;
    std::vector<gpu::Command> before;
    for (const auto& [command, label] : runner_.programs_->canvas_commands()) {
        before.push_back(command);
        const std::string kind = format("{} [{} {} {}]", label, command.x, command.y, command.z);
        KernelTime& time = times[kind];
        ++time.dispatches;
        if (time.dispatches > 1) continue;
        time.label = kind;
        // How long some take depends on what they read, and scratch memory is used again: it must be what it is there.
        const gpu::Id prefix = CO_TRY(device.program(before));
        const gpu::Id alone = CO_TRY(device.program({&command, 1}));
        device.run(prefix);
        const auto nanoseconds = co_await device.time(alone, kRepeat, cancel);
        device.release(prefix);
        device.release(alone);
        time.ms = CO_TRY(nanoseconds) / 1e6 / kRepeat;
    }
    std::vector<KernelTime> out;
    for (auto& [kind, time] : times) {
        time.ms *= time.dispatches;
        out.push_back(std::move(time));
    }
    sort_few(out, std::greater{}, &KernelTime::ms);
    co_return out;
}

Task<Result<double>> GpuCanvas::time_step(uint32_t repeat, Cancel cancel) {
    const gpu::Id program = CO_TRY(co_await runner_.programs_->canvas_step(true, cancel));
    runner_.programs_->write_step(runner_.position_, length());
    const double nanoseconds = CO_TRY(co_await runner_.programs_->device().time(program, repeat, cancel));
    co_return nanoseconds / 1e6 / repeat;
}

}  // namespace lapidary::infer
