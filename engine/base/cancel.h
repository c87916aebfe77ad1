// Cancel: one flag shared by whoever may stop a piece of work and everything that does the work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"

namespace lapidary {

// Cheap to copy; all copies are the same flag. Single-threaded like the engine.
class Cancel {
  public:
    Cancel() : state_(std::make_shared<State>()) {}

    [[nodiscard]] bool requested() const { return state_->requested; }

    // The usual line in a loop: CO_TRY(cancel.check());
    [[nodiscard]] Status check() const {
        if (state_->requested) return fail(Code::cancelled, "stopped before it was finished");
        return {};
    }

    void request() {
        if (std::exchange(state_->requested, true)) return;
        // A listener may remove others, or end whatever they belong to: take them one by one.
        while (!state_->listeners.empty()) {
            const auto listener = std::move(state_->listeners.front().second);
            state_->listeners.erase(state_->listeners.begin());
            listener();
        }
    }

    // Something that waits for the host uses this to be woken early. Returns a number for `remove`.
    uint32_t add_listener(std::function<void()> listener) {
        state_->listeners.emplace_back(++state_->last_id, std::move(listener));
        return state_->last_id;
    }
    void remove_listener(uint32_t id) {
        std::erase_if(state_->listeners, [id](const auto& entry) { return entry.first == id; });
    }

  private:
    struct State {
        bool requested = false;
        uint32_t last_id = 0;
        std::vector<std::pair<uint32_t, std::function<void()>>> listeners;
    };
    std::shared_ptr<State> state_;
};

}  // namespace lapidary
