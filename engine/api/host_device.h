// HostDevice: a gpu::Device on top of what the host offers.
#pragma once

#include "api/gpu_host.h"
#include "api/pending_ops.h"

namespace lapidary::api {

class HostDevice final : public gpu::Device {
  public:
    HostDevice(GpuHost& host, PendingOps& ops) : host_(host), ops_(ops) {}

    Task<Status> open(std::vector<std::string> without, Cancel cancel) override;
    [[nodiscard]] const gpu::Info& info() const override { return info_; }
    Result<gpu::Id> buffer(uint64_t bytes, gpu::Usage usage, std::string_view label) override;
    void release(gpu::Id id) override { host_.release(id); }
    void write(gpu::Id buffer, uint64_t offset, std::span<const uint8_t> bytes) override {
        host_.write(buffer, offset, bytes);
    }
    Task<Result<std::vector<uint8_t>>> read(gpu::Id buffer, uint64_t offset, uint64_t size, Cancel cancel) override;
    Task<Result<gpu::Id>> pipeline(std::string wgsl, std::string label, std::vector<gpu::Access> bindings,
                                   std::vector<gpu::Constant> constants, Cancel cancel) override;
    Result<gpu::Id> bind_group(gpu::Id pipeline, std::span<const gpu::Binding> bindings) override;
    Result<gpu::Id> program(std::span<const gpu::Command> commands) override;
    void run(gpu::Id program) override { host_.run(program); }
    Task<Result<double>> time(gpu::Id program, uint32_t repeat, Cancel cancel) override;
    Task<Status> sync(Cancel cancel) override;

  private:
    GpuHost& host_;
    PendingOps& ops_;
    gpu::Info info_;
    bool open_ = false;
};

}  // namespace lapidary::api
