#include "infer/gpu_bandwidth.h"

#include <algorithm>

#include "kernels/resources.h"

namespace lapidary::infer {
namespace {

// Not among the kernels: no model ever needs it. Neighbouring threads take neighbouring 16 bytes, four of them each.
constexpr std::string_view kCopySource =
    "@group(0) @binding(0) var<storage, read> x: array<vec4u>;\n"
    "@group(0) @binding(1) var<storage, read_write> y: array<vec4u>;\n"
    "@compute @workgroup_size(256)\n"
    "fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {\n"
    "let i = group.x * 1024 + t;\n"
    "y[i] = x[i]; y[i + 256] = x[i + 256]; y[i + 512] = x[i + 512]; y[i + 768] = x[i + 768];\n"
    "}\n";
constexpr uint64_t kGroupBytes = 1024 * 16;
// Far more than any cache holds.
constexpr uint64_t kMaxBytes = 256 << 20;

}  // namespace

Task<Result<double>> copy_bandwidth(gpu::Device& device, Cancel cancel) {
    constexpr uint32_t kRepeat = 4;
    constexpr int kRuns = 4;
    constexpr double kLong = 1e9;  // nanoseconds: a GPU in software need not be measured again and again
    const gpu::Info& info = device.info();
    const uint64_t most = std::min({kMaxBytes, info.max_binding_bytes, info.max_buffer_bytes});
    const uint64_t bytes = most - most % kGroupBytes;
    CO_TRY(co_await device.sync(cancel));
    kernels::Resources resources(device, {});
    const auto from = resources.buffer(bytes, "copied from");
    const auto to = resources.buffer(bytes, "copied to");
    if (!from || !to || !co_await device.sync(cancel)) co_return 0.0;
    const gpu::Id pipeline = CO_TRY(co_await device.pipeline(std::string(kCopySource), "copy",
                                                             {gpu::Access::read, gpu::Access::write}, {}, cancel));
    resources.own(pipeline);
    const std::array<gpu::Binding, 2> bindings = {*from, *to};
    const gpu::Id group = CO_TRY(device.bind_group(pipeline, bindings));
    resources.own(group);
    const gpu::Command command{pipeline, group, uint32_t(bytes / kGroupBytes), 1, 1};
    const gpu::Id program = CO_TRY(device.program({&command, 1}));
    resources.own(program);
    CO_TRY(co_await device.time(program, 1, cancel));  // the first one makes the memory real
    double best = 0;
    double all = 0;
    for (int i = 0; i < kRuns && all < kLong; ++i) {
        const double taken = CO_TRY(co_await device.time(program, kRepeat, cancel));
        all += taken;
        if (i == 0 || taken < best) best = taken;
    }
    co_return best > 0 ? 2.0 * double(bytes) * kRepeat / (best / 1e9) : 0;
}

}  // namespace lapidary::infer
