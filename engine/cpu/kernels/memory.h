// The memory that ops speak of: in WebAssembly the module's own, elsewhere a block of bytes.
#pragma once

#include <stddef.h>

#include "cpu/op.h"

namespace lapidary::cpu {

class Memory {
  public:
#ifdef LAPIDARY_CPU_MODULE
    template <class T>
    [[nodiscard]] T* at(Address address) const {
        return reinterpret_cast<T*>(address);
    }
#else
    explicit Memory(uint8_t* base) : base_(base) {}
    template <class T>
    [[nodiscard]] T* at(Address address) const {
        return reinterpret_cast<T*>(base_ + address);
    }

  private:
    uint8_t* base_;
#endif

  public:
    [[nodiscard]] float* row(const Rows& rows, uint32_t i) const {
        return at<float>(rows.at) + size_t(i) * rows.stride;
    }
    // Null where there is none.
    [[nodiscard]] const float* floats(Address address) const {
        return address == 0 ? nullptr : at<const float>(address);
    }
};

// Items [first, end) of an op.
struct Part {
    uint32_t first, end;
};

}  // namespace lapidary::cpu
