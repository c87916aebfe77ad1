// Budget: how much work a computation may take altogether, in steps that are counted and not timed.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace lapidary::grammar {

class Budget {
  public:
    explicit Budget(uint64_t steps) : left_(steps) {}

    // False when there is not that much left; nothing is left then.
    bool take(uint64_t steps = 1) {
        taken_ += steps;
        if (left_ < steps) {
            left_ = 0;
            spent_ = true;
            return false;
        }
        left_ -= steps;
        return true;
    }
    [[nodiscard]] bool spent() const { return spent_; }
    [[nodiscard]] uint64_t taken() const { return taken_; }

  private:
    uint64_t left_;
    uint64_t taken_ = 0;
    bool spent_ = false;
};

// What one schema may take: well below a second, and several times what the largest in use take.
inline constexpr uint64_t kSchemaSteps = 40'000'000;

inline std::unexpected<Error> too_much_work() {
    return fail(Code::limit, "the schema takes too much work to follow: make its patterns and alternatives simpler");
}

}  // namespace lapidary::grammar
