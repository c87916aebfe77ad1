#include "infer/gpu_recorder.h"

#include <algorithm>
#include <bit>

namespace lapidary::infer {

GpuResources::~GpuResources() {
    for (const gpu::Id id : ids_) device_.release(id);
}

Result<gpu::Binding> GpuResources::buffer(uint64_t bytes, std::string_view label) {
    const uint64_t size = (std::max<uint64_t>(bytes, 16) + 15) / 16 * 16;
    const gpu::Id id = TRY(device_.buffer(size, gpu::Usage::storage, label));
    own(id);
    bytes_ += size;
    return gpu::Binding{id, 0, size};
}

Result<gpu::Binding> GpuResources::floats(const std::vector<float>& values, std::string_view label) {
    const gpu::Binding binding = TRY(buffer(values.size() * sizeof(float), label));
    device_.write(binding.buffer, 0, {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)});
    return binding;
}

kernels::Variant GpuResources::variant() const {
    const gpu::Info& info = device_.info();
    const bool subgroups = info.subgroups && info.subgroup_min >= 32;
    return {.reduction = subgroups ? kernels::Reduction::subgroup : kernels::Reduction::shared,
            .activations = info.packed_dot ? kernels::Activations::planes : kernels::Activations::floats,
            .kv = kv_};
}

Task<Result<gpu::Id>> GpuResources::pipeline(const kernels::Kernel& kernel, kernels::Format format,
                                             std::vector<gpu::Constant> constants, Cancel cancel) {
    std::string label(kernel.name);
    if (kernel.reads_weights()) label += "." + std::string(kernels::format_name(format));
    std::string key = label;
    for (const gpu::Constant& constant : constants) {
        key += lapidary::format(" {}={}", constant.name, std::bit_cast<uint64_t>(constant.value));
    }
    if (const auto it = pipelines_.find(key); it != pipelines_.end()) co_return it->second;
    const auto access = kernel.accesses();
    const gpu::Id id = CO_TRY(co_await device_.pipeline(kernels::shader(kernel, format, variant()), label,
                                                        {access.begin(), access.end()}, std::move(constants), cancel));
    own(id);
    pipelines_.emplace(std::move(key), id);
    co_return id;
}

Task<Status> GpuRecorder::add(const kernels::Kernel& kernel, std::vector<gpu::Constant> constants,
                              std::vector<gpu::Binding> bindings, Grid grid, kernels::Format format) {
    std::string label(kernel.name);
    if (kernel.reads_weights()) label += " " + std::string(kernels::format_name(format));
    for (const gpu::Constant& constant : constants) {
        const bool is_size = constant.name == "kOut" || constant.name == "kCols" || constant.name == "kDim";
        if (is_size) label += lapidary::format(" {}", uint64_t(constant.value));
    }
    labels_.push_back(std::move(label));
    const gpu::Id pipeline = CO_TRY(co_await resources_.pipeline(kernel, format, std::move(constants), cancel_));
    const gpu::Id group = CO_TRY(resources_.device().bind_group(pipeline, bindings));
    resources_.own(group);
    commands_.push_back({pipeline, group, grid.x, grid.y, grid.z});
    co_return Status{};
}

std::vector<GpuRecorder::Labelled> GpuRecorder::labelled() const {
    std::vector<Labelled> out;
    for (size_t i = 0; i < commands_.size(); ++i) out.push_back({commands_[i], labels_[i]});
    return out;
}

Result<gpu::Id> GpuRecorder::finish() {
    const gpu::Id id = TRY(resources_.device().program(commands_));
    resources_.own(id);
    return id;
}

}  // namespace lapidary::infer
