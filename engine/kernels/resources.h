// Buffers, pipelines and bind groups that live as long as their owner.
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/task.h"
#include "gpu/tensor.h"
#include "kernels/arena.h"
#include "kernels/dispatch.h"
#include "kernels/target.h"

namespace lapidary::kernels {

// Small arrays one after the other, for one binding.
std::vector<float> joined(std::initializer_list<std::vector<float>> arrays);

class Resources {
  public:
    // The variant is what its pipelines are made in. `pipelines`: whose they are, if others live longer.
    explicit Resources(gpu::Device& device, Variant variant, uint32_t compute_units = 0, Resources* pipelines = nullptr)
        : device_(device), variant_(variant), compute_units_(compute_units), pipelines_of_(pipelines) {}
    ~Resources();
    Resources(const Resources&) = delete;
    Resources& operator=(const Resources&) = delete;

    [[nodiscard]] gpu::Device& device() const { return device_; }
    [[nodiscard]] Variant variant() const { return variant_; }
    [[nodiscard]] Target target() const {
        return {.info = device_.info(), .variant = variant_, .compute_units = compute_units_};
    }

    Result<gpu::Binding> buffer(uint64_t bytes, std::string_view label);
    // A small constant array.
    Result<gpu::Binding> floats(const std::vector<float>& values, std::string_view label);
    // A few words that one dispatch reads; many share a buffer.
    Result<gpu::Binding> words(std::span<const uint8_t> bytes);
    // From now on scratch tensors do not share buffers: for those who compare programs, and whether sharing is right.
    void keep_scratch_apart() { shares_scratch_ = false; }
    // A buffer for each scratch tensor of these dispatches, which no other tensor uses at the same time. All programs share
    // them: they run one after the other.
    Result<std::vector<gpu::Id>> scratch_buffers(std::span<const Dispatch> dispatches,
                                                 std::span<const Scratch> tensors);
    // Makes those that are not there yet; pipeline() knows them then.
    Task<Status> make_pipelines(std::span<const Dispatch> wanted, Cancel cancel);
    [[nodiscard]] gpu::Id pipeline(const Dispatch& wanted) const;
    void own(gpu::Id id) { ids_.push_back(id); }
    [[nodiscard]] uint64_t bytes() const { return bytes_; }

  private:
    gpu::Device& device_;
    Variant variant_;
    uint32_t compute_units_;
    Resources* pipelines_of_;  // null: its own
    std::vector<gpu::Id> ids_;
    std::map<std::string, gpu::Id> pipelines_;
    gpu::Binding words_;
    std::vector<uint64_t> scratch_sizes_;
    std::vector<gpu::Id> scratch_;
    uint64_t words_used_ = 0;
    bool shares_scratch_ = true;
    uint64_t bytes_ = 0;
};

}  // namespace lapidary::kernels
