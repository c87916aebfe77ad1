// Recorder: collects the commands of a program, at once and without failing; what was wrong comes out when it is finished. Pipelines are made once for each kernel, format and set of constants, and
// all that a program lacks together: the host compiles several at a time.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "kernels/kernel.h"

namespace lapidary::infer {

// A kernel for its formats of weights and one set of constants.
struct PipelineWanted {
    const kernels::Kernel* kernel;
    kernels::Formats formats;
    std::vector<gpu::Constant> constants;

    [[nodiscard]] std::string name() const;  // for people: "matvec.q4_k"
    [[nodiscard]] std::string key() const;
};

// Small arrays one after the other, for one binding.
std::vector<float> joined(std::initializer_list<std::vector<float>> arrays);

// Buffers and pipelines that live as long as their owner.
class GpuResources {
  public:
    // The variant is what its pipelines are made in.
    GpuResources(gpu::Device& device, kernels::Variant variant) : device_(device), variant_(variant) {}
    ~GpuResources();
    GpuResources(const GpuResources&) = delete;
    GpuResources& operator=(const GpuResources&) = delete;

    [[nodiscard]] gpu::Device& device() const { return device_; }
    [[nodiscard]] kernels::Variant variant() const { return variant_; }

    Result<gpu::Binding> buffer(uint64_t bytes, std::string_view label);
    // A small constant array.
    Result<gpu::Binding> floats(const std::vector<float>& values, std::string_view label);
    // Makes those that are not there yet; pipeline() knows them then.
    Task<Status> make_pipelines(std::span<const PipelineWanted> wanted, Cancel cancel);
    [[nodiscard]] gpu::Id pipeline(const PipelineWanted& wanted) const { return pipelines_.at(wanted.key()); }
    void own(gpu::Id id) { ids_.push_back(id); }
    [[nodiscard]] uint64_t bytes() const { return bytes_; }

  private:
    gpu::Device& device_;
    kernels::Variant variant_;
    std::vector<gpu::Id> ids_;
    std::map<std::string, gpu::Id> pipelines_;
    uint64_t bytes_ = 0;
};

struct Grid {
    uint32_t x = 1, y = 1, z = 1;
};

class GpuRecorder {
  public:
    // Pipelines are the resources'; what is made for this program alone belongs to `keeper`, if there is one.
    GpuRecorder(GpuResources& resources, Cancel cancel, GpuResources* keeper = nullptr)
        : resources_(resources), keeper_(keeper != nullptr ? *keeper : resources), cancel_(std::move(cancel)) {}

    // `sizes`: for profiles, where the constants do not say them.
    void add(const kernels::Kernel& kernel, std::vector<gpu::Constant> constants, std::vector<gpu::Binding> bindings,
             Grid grid, kernels::Formats formats = kernels::Format::f32, std::string sizes = {});
    // What cannot be recorded. The first reason is the one that finish() tells.
    template <class... Args>
    void refuse(Code code, FormatPattern<std::type_identity_t<Args>...> pattern, const Args&... args) {
        keep(Error{code, format<Args...>(pattern, args...)});
    }
    // The value; without one what was wrong is told by finish(), and an empty value will do until then.
    template <class T>
    T keep(Result<T> result) {
        if (result) return *std::move(result);
        keep(std::move(result).error());
        return T{};
    }
    // Makes the pipelines, then the program.
    Task<Result<gpu::Id>> finish();

    // What was recorded and finished, each with the kernel's name and sizes, for profiles.
    struct Labelled {
        gpu::Command command;
        std::string label;
    };
    [[nodiscard]] std::vector<Labelled> labelled() const;

  private:
    void keep(Error error);

    GpuResources& resources_;
    GpuResources& keeper_;
    std::optional<Error> error_;
    Cancel cancel_;
    struct Dispatch {
        std::vector<gpu::Binding> bindings;
        Grid grid;
        std::string label;
    };
    std::vector<PipelineWanted> wanted_;  // one a dispatch
    std::vector<Dispatch> dispatches_;
    std::vector<gpu::Command> commands_;
};

}  // namespace lapidary::infer
