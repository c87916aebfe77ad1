// The operations the host is busy with: turns "start this, I will call you back" into something to co_await.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/host.h"
#include "base/byte_source.h"

namespace lapidary::api {

// A wait ends when the host completes the operation or the Cancel is requested, whichever is first. The buffer of an
// abandoned operation lives until the host completes it, because the host may still be writing into it.
class PendingOps {
  public:
    explicit PendingOps(Host& host) : host_(host) {}

    // Any operation: `begin` asks the host for it and may let it use `buffer`, which comes back when it is complete.
    using Begin = std::function<void(uint32_t op, std::span<uint8_t> buffer)>;
    Task<Result<Bytes>> run(Bytes buffer, Begin begin, Cancel cancel);

    Task<Result<Bytes>> read(uint32_t source, ByteRange range, Cancel cancel);
    Task<Status> write(uint32_t sink, uint64_t offset, Bytes bytes, Cancel cancel);
    Task<Status> defer(Cancel cancel);

    // The host's answer. Numbers that are not (or no longer) known are ignored.
    void complete(uint32_t op, std::optional<std::string> error);

    [[nodiscard]] size_t size() const { return ops_.size(); }

  private:
    struct Op {
        Bytes buffer;
        std::coroutine_handle<> waiting;
        Status status;
    };
    class Wait;

    Host& host_;
    uint32_t last_ = 0;
    std::unordered_map<uint32_t, std::shared_ptr<Op>> ops_;
};

// A source the host knows by number.
class HostSource final : public ByteSource {
  public:
    HostSource(PendingOps& ops, uint32_t id, uint64_t size) : ops_(ops), id_(id), size_(size) {}
    [[nodiscard]] uint64_t size() const override { return size_; }
    Task<Result<Bytes>> read(ByteRange range, Cancel cancel) override;

  private:
    PendingOps& ops_;
    uint32_t id_;
    uint64_t size_;
};

class HostSink final : public ByteSink {
  public:
    HostSink(PendingOps& ops, uint32_t id) : ops_(ops), id_(id) {}
    Task<Status> write(uint64_t offset, Bytes bytes, Cancel cancel) override {
        return ops_.write(id_, offset, std::move(bytes), std::move(cancel));
    }

  private:
    PendingOps& ops_;
    uint32_t id_;
};

}  // namespace lapidary::api
