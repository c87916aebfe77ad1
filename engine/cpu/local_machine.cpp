#include "cpu/local_machine.h"

#include <algorithm>
#include <cstring>

#include "cpu/kernels/kernels.h"

namespace lapidary::cpu {

bool LocalMachine::grow(uint64_t bytes) {
    if (bytes <= bytes_) return true;
    // Twice as much at least: it may have to move.
    const uint64_t more = std::max(bytes, 2 * bytes_);
    if (more > SIZE_MAX) return false;
    auto* const memory = static_cast<uint8_t*>(std::realloc(memory_, size_t(more)));
    if (memory == nullptr) return false;
    memory_ = memory;
    bytes_ = more;
    return true;
}

void LocalMachine::write(Address to, std::span<const uint8_t> bytes) {
    if (!bytes.empty()) std::memcpy(memory_ + to, bytes.data(), bytes.size());
}

void LocalMachine::read(Address from, std::span<uint8_t> out) {
    if (!out.empty()) std::memcpy(out.data(), memory_ + from, out.size());
}

Status LocalMachine::run(Address step, Address ops, uint32_t count) {
    const Memory memory(memory_);
    for (uint32_t i = 0; i < count; ++i) {
        const Op& op = memory.at<const Op>(ops)[i];
        const Step& at = *memory.at<const Step>(step);
        run_part(memory, op, at, {0, items_of(op, at)});
    }
    return {};
}

}  // namespace lapidary::cpu
