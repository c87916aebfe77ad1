// Recorder: collects the commands of a program. Pipelines are made once for each kernel, format and set of constants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "kernels/kernel.h"

namespace lapidary::infer {

// Buffers and pipelines that live as long as their owner.
class GpuResources {
  public:
    // With `kv`, the form in which the kernels keep keys and values.
    GpuResources(gpu::Device& device, KvFormat kv) : device_(device), kv_(kv) {}
    ~GpuResources();
    GpuResources(const GpuResources&) = delete;
    GpuResources& operator=(const GpuResources&) = delete;

    [[nodiscard]] gpu::Device& device() const { return device_; }
    // Which variant of the kernels suits the device.
    [[nodiscard]] kernels::Variant variant() const;

    Result<gpu::Binding> buffer(uint64_t bytes, std::string_view label);
    // A small constant array.
    Result<gpu::Binding> floats(const std::vector<float>& values, std::string_view label);
    Task<Result<gpu::Id>> pipeline(const kernels::Kernel& kernel, kernels::Format format,
                                   std::vector<gpu::Constant> constants, Cancel cancel);
    void own(gpu::Id id) { ids_.push_back(id); }
    [[nodiscard]] uint64_t bytes() const { return bytes_; }

  private:
    gpu::Device& device_;
    KvFormat kv_;
    std::vector<gpu::Id> ids_;
    std::map<std::string, gpu::Id> pipelines_;
    uint64_t bytes_ = 0;
};

struct Grid {
    uint32_t x = 1, y = 1, z = 1;
};

class GpuRecorder {
  public:
    GpuRecorder(GpuResources& resources, Cancel cancel) : resources_(resources), cancel_(std::move(cancel)) {}

    Task<Status> add(const kernels::Kernel& kernel, std::vector<gpu::Constant> constants,
                     std::vector<gpu::Binding> bindings, Grid grid, kernels::Format format = kernels::Format::f32);
    Result<gpu::Id> finish();
    [[nodiscard]] size_t size() const { return commands_.size(); }

    // What was recorded, each with the kernel's name and sizes, for profiles.
    struct Labelled {
        gpu::Command command;
        std::string label;
    };
    [[nodiscard]] std::vector<Labelled> labelled() const;

  private:
    GpuResources& resources_;
    Cancel cancel_;
    std::vector<gpu::Command> commands_;
    std::vector<std::string> labels_;
};

}  // namespace lapidary::infer
