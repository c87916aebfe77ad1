// A machine that is part of the program: for tests, and for tools that are not WebAssembly.
#pragma once

#include <cstdlib>

#include "cpu/machine.h"

namespace lapidary::cpu {

class LocalMachine final : public Machine {
  public:
    explicit LocalMachine(Digits digits = Digits::three_i8) : digits_(digits) {}
    ~LocalMachine() override { std::free(memory_); }

    [[nodiscard]] Digits digits(Accuracy accuracy) const override {
        return accuracy == Accuracy::fast && digits_ == Digits::three_i8 ? Digits::one_i8 : digits_;
    }
    bool grow(uint64_t bytes) override;
    void write(Address to, std::span<const uint8_t> bytes) override;
    void read(Address from, std::span<uint8_t> out) override;
    Status run(Address step, Address ops, uint32_t count) override;

  private:
    Digits digits_;
    uint8_t* memory_ = nullptr;
    uint64_t bytes_ = 0;
};

}  // namespace lapidary::cpu
