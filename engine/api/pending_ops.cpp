#include "api/pending_ops.h"

namespace lapidary::api {

// Suspends until `op` is completed or cancelled; `go` starts the operation once everything is in place, because a
// host may complete it at once. Who waits may be destroyed meanwhile; nobody is resumed then.
class PendingOps::Wait {
  public:
    Wait(std::shared_ptr<Op> op, Cancel cancel, std::function<void()> go)
        : op_(std::move(op)), cancel_(std::move(cancel)), go_(std::move(go)) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait() {
        op_->waiting = nullptr;
        cancel_.remove_listener(listener_);
    }

    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
        op_->waiting = handle;
        listener_ = cancel_.add_listener([op = op_, cancel = cancel_] {
            op->status = cancel.check();
            if (const auto waiting = std::exchange(op->waiting, nullptr)) waiting.resume();
        });
        // Nothing of this awaiter may be touched after `go`: the coroutine may already be past it.
        const auto go = std::move(go_);
        go();
    }
    Status await_resume() { return op_->status; }

  private:
    std::shared_ptr<Op> op_;
    Cancel cancel_;
    std::function<void()> go_;
    uint32_t listener_ = 0;
};

void PendingOps::complete(uint32_t number, std::optional<std::string> error) {
    const auto it = ops_.find(number);
    if (it == ops_.end()) return;
    const auto op = it->second;
    ops_.erase(it);
    if (error) op->status = std::unexpected(Error{Code::io, std::move(*error)});
    if (const auto waiting = std::exchange(op->waiting, nullptr)) waiting.resume();
}

Task<Result<Bytes>> PendingOps::run(Bytes buffer, Begin begin, Cancel cancel) {
    CO_TRY(cancel.check());
    auto op = std::make_shared<Op>();
    op->buffer = std::move(buffer);
    const uint32_t number = ++last_;
    ops_.emplace(number, op);
    Wait wait(op, cancel, [begin = std::move(begin), number, op = op.get()] { begin(number, op->buffer); });
    CO_TRY(co_await wait);
    co_return std::move(op->buffer);
}

Task<Result<Bytes>> PendingOps::read(uint32_t source, ByteRange range, Cancel cancel) {
    return run(
        Bytes(size_t(range.size)),
        [this, source, offset = range.offset](uint32_t op, std::span<uint8_t> out) {
            host_.read(op, source, offset, out);
        },
        std::move(cancel));
}

Task<Status> PendingOps::write(uint32_t sink, uint64_t offset, Bytes bytes, Cancel cancel) {
    CO_TRY(co_await run(
        std::move(bytes),
        [this, sink, offset](uint32_t op, std::span<uint8_t> stored) { host_.write(op, sink, offset, stored); },
        std::move(cancel)));
    co_return Status{};
}

Task<Status> PendingOps::defer(Cancel cancel) {
    CO_TRY(co_await run({}, [this](uint32_t op, std::span<uint8_t>) { host_.defer(op); }, std::move(cancel)));
    co_return Status{};
}

Task<Result<Bytes>> HostSource::read(ByteRange range, Cancel cancel) {
    CO_TRY(check_range(range, size_));
    co_return co_await ops_.read(id_, range, std::move(cancel));
}

}  // namespace lapidary::api
