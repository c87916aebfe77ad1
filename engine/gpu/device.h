// Device: the narrow door to WebGPU. Buffers, pipelines, bind groups and recorded programs are numbers the host knows;
// what takes time is a task. Errors are values that name the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/task.h"

namespace lapidary::gpu {

using Id = uint32_t;  // 0: none

struct Info {
    std::string adapter;    // "nvidia hopper", for people
    bool software = false;  // a CPU that pretends to be one
    bool subgroups = false;
    uint32_t subgroup_min = 0;  // threads in a subgroup, at least; 0: not known
    bool f16 = false;
    bool packed_dot = false;  // dot products of four bytes in one instruction, or so the shading language says
    bool timestamps = false;
    uint64_t max_buffer_bytes = 256ull << 20;
    uint64_t max_binding_bytes = 128ull << 20;
    uint32_t max_workgroup_bytes = 16384;
    uint32_t max_grid = 65535;  // workgroups in one dimension
};

enum class Usage : uint8_t { storage = 1 };
enum class Access : uint8_t { read = 1, write = 2 };

struct Constant {
    std::string_view name;
    double value;
};

struct Binding {
    Id buffer = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
};

// Crosses the door as it is.
struct Command {
    Id pipeline;
    Id bind_group;
    uint32_t x, y, z;
};

class Device {
  public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;

    // An adapter and a device, with every feature we can use except those named.
    virtual Task<Status> open(std::vector<std::string> without, Cancel cancel) = 0;
    [[nodiscard]] virtual const Info& info() const = 0;

    virtual Result<Id> buffer(uint64_t bytes, Usage usage, std::string_view label) = 0;
    // Buffers are destroyed, everything else forgotten.
    virtual void release(Id id) = 0;
    virtual void write(Id buffer, uint64_t offset, std::span<const uint8_t> bytes) = 0;
    virtual Task<Result<std::vector<uint8_t>>> read(Id buffer, uint64_t offset, uint64_t size, Cancel cancel) = 0;
    virtual Task<Result<Id>> pipeline(std::string wgsl, std::string label, std::vector<Access> bindings,
                                      std::vector<Constant> constants, Cancel cancel) = 0;
    virtual Result<Id> bind_group(Id pipeline, std::span<const Binding> bindings) = 0;
    virtual Result<Id> program(std::span<const Command> commands) = 0;
    // One compute pass, one submit.
    virtual void run(Id program) = 0;
    // GPU nanoseconds of `repeat` runs.
    virtual Task<Result<double>> time(Id program, uint32_t repeat, Cancel cancel) = 0;
    // Everything submitted is done; an error if anything went wrong since the last time.
    virtual Task<Status> sync(Cancel cancel) = 0;
};

}  // namespace lapidary::gpu
