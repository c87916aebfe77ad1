// GpuHost: WebGPU as the host offers it, raw. Asynchronous calls carry an operation number and are completed like
// those of Host; ids are the host's, 0 means failure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gpu/device.h"

namespace lapidary::api {

class GpuHost {
  public:
    GpuHost() = default;
    GpuHost(const GpuHost&) = delete;
    GpuHost& operator=(const GpuHost&) = delete;
    virtual ~GpuHost() = default;

    virtual bool available() = 0;
    virtual void open(uint32_t op, std::string_view options_json) = 0;
    virtual std::string info_json() = 0;
    virtual gpu::Id buffer(uint64_t bytes, gpu::Usage usage, std::string_view label) = 0;
    virtual void release(gpu::Id id) = 0;
    virtual void write(gpu::Id buffer, uint64_t offset, std::span<const uint8_t> bytes) = 0;
    virtual void read(uint32_t op, gpu::Id buffer, uint64_t offset, std::span<uint8_t> out) = 0;
    virtual gpu::Id pipeline(uint32_t op, std::string_view wgsl, std::string_view label,
                             std::span<const gpu::Access> bindings, std::string_view constants_json) = 0;
    virtual gpu::Id bind_group(gpu::Id pipeline, std::span<const gpu::Binding> bindings) = 0;
    virtual gpu::Id program(std::span<const gpu::Command> commands) = 0;
    virtual void run(gpu::Id program) = 0;
    virtual void time(uint32_t op, gpu::Id program, uint32_t repeat, std::span<uint8_t> out) = 0;
    virtual void sync(uint32_t op) = 0;
};

}  // namespace lapidary::api
