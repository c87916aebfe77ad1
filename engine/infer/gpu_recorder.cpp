#include "infer/gpu_recorder.h"

#include <algorithm>
#include <bit>

#include "base/all.h"

namespace lapidary::infer {
namespace {

// What of the variant decides a kernel's text, for people: "matvec.q4_k subgroup planes".
std::string pipeline_label(const PipelineWanted& wanted, kernels::Variant variant) {
    const kernels::Module& module = wanted.kernel->module;
    std::string out = wanted.name();
    if (has_slot(module, "reduce")) {
        out += variant.reduction == kernels::Reduction::subgroup ? " subgroup" : " shared";
    }
    if (has_slot(module, "activations")) {
        out += variant.activations == kernels::Activations::planes ? " planes" : " floats";
    }
    if (has_slot(module, "kv")) out += " " + std::string(kv_format_name(variant.kv));
    return out;
}

}  // namespace

std::vector<float> joined(std::initializer_list<std::vector<float>> arrays) {
    std::vector<float> out;
    for (const auto& array : arrays) out.insert(out.end(), array.begin(), array.end());
    return out;
}

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

std::string PipelineWanted::name() const {
    std::string out(kernel->name);
    if (kernel->reads_weights()) out += "." + formats.name();
    return out;
}

std::string PipelineWanted::key() const {
    std::string out = name();
    for (const gpu::Constant& constant : constants) {
        out += lapidary::format(" {}={}", constant.name, std::bit_cast<uint64_t>(constant.value));
    }
    return out;
}

Task<Status> GpuResources::make_pipelines(std::span<const PipelineWanted> wanted, Cancel cancel) {
    // Enough to keep a compiler with many threads busy.
    constexpr size_t kAtOnce = 16;
    std::map<std::string, const PipelineWanted*> missing;
    for (const PipelineWanted& one : wanted) {
        std::string key = one.key();
        if (!pipelines_.contains(key)) missing.emplace(std::move(key), &one);
    }
    const std::vector<std::pair<std::string, const PipelineWanted*>> list(missing.begin(), missing.end());
    Status status;
    co_await for_all(list.size(), kAtOnce, [&](size_t i) -> Task<bool> {
        if (!status) co_return false;  // the others need not be tried
        const auto& [key, one] = list[i];
        const auto access = one->kernel->accesses();
        auto id = co_await device_.pipeline(kernels::shader(*one->kernel, one->formats, variant_),
                                            pipeline_label(*one, variant_), {access.begin(), access.end()},
                                            one->constants, cancel);
        if (id) {
            own(*id);
            pipelines_.emplace(key, *id);
        } else if (status) {
            status = std::unexpected(std::move(id).error());
        }
        co_return true;
    });
    co_return status;
}

void GpuRecorder::keep(Error error) {
    if (!error_) error_ = std::move(error);
}

void GpuRecorder::add(const kernels::Kernel& kernel, std::vector<gpu::Constant> constants,
                      std::vector<gpu::Binding> bindings, Grid grid, kernels::Formats formats, std::string sizes) {
    std::string label(kernel.name);
    if (kernel.reads_weights()) label += " " + formats.name();
    if (!sizes.empty()) label += " " + sizes;
    for (const gpu::Constant& constant : constants) {
        const bool is_size = constant.name == "kOut" || constant.name == "kCols" || constant.name == "kDim";
        if (is_size && sizes.empty()) label += lapidary::format(" {}", uint64_t(constant.value));
    }
    wanted_.push_back({.kernel = &kernel, .formats = formats, .constants = std::move(constants)});
    dispatches_.push_back({.bindings = std::move(bindings), .grid = grid, .label = std::move(label)});
}

std::vector<GpuRecorder::Labelled> GpuRecorder::labelled() const {
    std::vector<Labelled> out;
    for (size_t i = 0; i < commands_.size(); ++i) out.push_back({commands_[i], dispatches_[i].label});
    return out;
}

Task<Result<gpu::Id>> GpuRecorder::finish() {
    if (error_) co_return std::unexpected(*std::move(error_));
    CO_TRY(co_await resources_.make_pipelines(wanted_, cancel_));
    for (size_t i = 0; i < wanted_.size(); ++i) {
        const Dispatch& dispatch = dispatches_[i];
        const gpu::Id pipeline = resources_.pipeline(wanted_[i]);
        const gpu::Id group = CO_TRY(resources_.device().bind_group(pipeline, dispatch.bindings));
        keeper_.own(group);
        commands_.push_back({pipeline, group, dispatch.grid.x, dispatch.grid.y, dispatch.grid.z});
    }
    const gpu::Id id = CO_TRY(resources_.device().program(commands_));
    keeper_.own(id);
    co_return id;
}

}  // namespace lapidary::infer
