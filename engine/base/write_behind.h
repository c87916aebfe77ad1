// WriteBehind: hands pieces to a sink, and lets the next one be made while the last one is being written.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

#include "base/byte_source.h"

namespace lapidary {

// One piece is under way at a time. `finish` must be awaited before the sink goes away, also after an error.
class WriteBehind {
  public:
    WriteBehind(ByteSink& sink, Cancel cancel) : sink_(sink), cancel_(std::move(cancel)) {}

    // Waits for the piece before this one, then sends this one on its way. The error of a piece is that of the call
    // after it.
    Task<Status> write(uint64_t offset, Bytes bytes) {
        CO_TRY(co_await finish());
        auto flight = std::make_shared<Flight>();
        flight_ = flight;
        start<Status>(sink_.write(offset, std::move(bytes), cancel_), [flight](Status status) {
            flight->result = std::move(status);
            if (const auto waiting = std::exchange(flight->waiting, nullptr)) waiting.resume();
        });
        co_return Status{};
    }

    // Waits until nothing is under way.
    Task<Status> finish() {
        const auto flight = std::exchange(flight_, nullptr);
        if (flight == nullptr) co_return Status{};
        co_return co_await Landing{flight.get()};
    }

  private:
    struct Flight {
        std::optional<Status> result;
        std::coroutine_handle<> waiting;
    };
    struct Landing {
        explicit Landing(Flight* awaited) : flight(awaited) {}
        Landing(const Landing&) = delete;
        Landing& operator=(const Landing&) = delete;
        ~Landing() { flight->waiting = nullptr; }  // a task that is destroyed while it waits is not to be resumed

        bool await_ready() { return flight->result.has_value(); }
        void await_suspend(std::coroutine_handle<> handle) { flight->waiting = handle; }
        Status await_resume() { return *std::move(flight->result); }

        Flight* flight;
    };

    ByteSink& sink_;
    Cancel cancel_;
    std::shared_ptr<Flight> flight_;
};

}  // namespace lapidary
