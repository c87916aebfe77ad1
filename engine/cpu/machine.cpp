#include "cpu/machine.h"

#include <algorithm>

namespace lapidary::cpu {
namespace {

// Below it are the kernels' own things: their stacks, and what threads tell each other.
constexpr uint64_t kFirst = 4 << 20;
constexpr uint64_t kAlign = 64;
// Addresses have 32 bits; a megabyte less, so that no sum of them wraps around.
constexpr uint64_t kMost = (uint64_t{1} << 32) - (1 << 20);

}  // namespace

Result<Address> Heap::take(uint64_t bytes) {
    const uint64_t size = (std::max<uint64_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign;
    uint64_t at = kFirst;
    auto before = used_.begin();
    for (; before != used_.end() && before->at - at < size; ++before) at = before->at + before->bytes;
    if (size > kMost || at > kMost - size) {
        return fail(Code::out_of_memory, "the CPU backend can hold {} and has {} left; {} more are needed",
                    format_bytes(kMost - kFirst), format_bytes(kMost - kFirst - this->bytes()), format_bytes(bytes));
    }
    if (at + size > grown_) {
        if (!machine_.grow(at + size)) {
            return fail(Code::out_of_memory, "there is not enough memory for the CPU backend: {} more are needed",
                        format_bytes(bytes));
        }
        grown_ = at + size;
    }
    used_.insert(before, {at, size});
    return Address(at);
}

Status Heap::check_room(uint64_t bytes, std::string_view what) const {
    const uint64_t left = kMost - kFirst - this->bytes();
    if (bytes <= left) return {};
    return fail(Code::out_of_memory, "{} takes {} on the CPU, and there is room for {}: use the GPU or a smaller model",
                what, format_bytes(bytes), format_bytes(left));
}

void Heap::give_back(Address at) {
    std::erase_if(used_, [&](const Range& range) { return range.at == at; });
}

uint64_t Heap::bytes() const {
    uint64_t sum = 0;
    for (const Range& range : used_) sum += range.bytes;
    return sum;
}

}  // namespace lapidary::cpu
