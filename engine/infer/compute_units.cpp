#include "infer/compute_units.h"

#include <algorithm>

#include "kernels/resources.h"

namespace lapidary::infer {
namespace {

// Eight chains of multiplications a thread keep a compute unit busy with one workgroup, so a second one on it takes as long
// again. What is computed nobody wants, but the compiler cannot know.
constexpr std::string_view kBusySource =
    "@group(0) @binding(0) var<storage, read_write> y: array<f32>;\n"
    "@compute @workgroup_size(256)\n"
    "fn main(@builtin(local_invocation_index) t: u32) {\n"
    "var a = vec4f(f32(t)); var b = a + 1;\n"
    "let m = vec4f(0.75, 0.5, 0.25, 0.125) + a * 1e-9;\n"
    "for (var i = 0; i < 100000; i++) { a = fma(a, m, b); b = fma(b, m, vec4f(1)); }\n"
    "if (dot(a, b) == 0.12345) { y[0] = a.x; }\n"
    "}\n";

}  // namespace

uint32_t ComputeUnitSearch::next() const {
    switch (stage_) {
        case Stage::halves: return too_many_ == 0 ? 2 * fits_ : (fits_ + too_many_) / 2;
        case Stage::as_many: return fits_;
        case Stage::one_more: return fits_ + 1;
        case Stage::done: return 0;
        default: return 1;
    }
}

void ComputeUnitSearch::took(double time) {
    constexpr double kTwice = 1.5;  // and more is as good as twice
    const bool quick = time < kTwice * one_;
    if (stage_ == Stage::halves) {
        (quick ? fits_ : too_many_) = next();
        if (too_many_ == 0 ? fits_ < most_ : too_many_ - fits_ > 1) return;
    }
    if (stage_ == Stage::one || stage_ == Stage::one_again) one_ = time;
    if (stage_ == Stage::as_many) sure_ = quick;
    if (stage_ == Stage::one_more) sure_ = sure_ && !quick;
    stage_ = Stage(uint8_t(stage_) + 1);
}

Task<Result<uint32_t>> count_compute_units(gpu::Device& device, Cancel cancel) {
    constexpr uint32_t kMax = 1024;
    constexpr double kWarm = 30e6;  // nanoseconds of work, after which clocks have gone up
    const gpu::Info& info = device.info();
    if (info.software || !info.timestamps) co_return 0;
    kernels::Resources resources(device, {});
    const gpu::Binding y = CO_TRY(resources.buffer(16, "nothing"));
    const gpu::Id pipeline =
        CO_TRY(co_await device.pipeline(std::string(kBusySource), "busy", {gpu::Access::write}, {}, cancel));
    resources.own(pipeline);
    const gpu::Id group = CO_TRY(device.bind_group(pipeline, {&y, 1}));
    resources.own(group);
    ComputeUnitSearch search(kMax);
    double busy = 0;
    double best = 0;
    for (bool again = false; search.next() != 0;) {
        const gpu::Command command{pipeline, group, search.next(), 1, 1};
        const gpu::Id program = CO_TRY(device.program({&command, 1}));
        resources.own(program);
        const double taken = CO_TRY(co_await device.time(program, 1, cancel));
        if (taken <= 0) co_return 0;
        busy += taken;
        best = again ? std::min(best, taken) : taken;
        // The better of two, once it is warm.
        if (again && busy > kWarm) search.took(best);
        again = !again;
    }
    co_return search.found();
}

}  // namespace lapidary::infer
