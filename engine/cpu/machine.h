// Machine: what the CPU backend computes with: a memory of its own, and kernels that run programs in it. In WebAssembly the host has
// it (a module made for this, perhaps on several threads); in native programs it is compiled in.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "cpu/op.h"

namespace lapidary::cpu {

// exact: logits as close as sums of f32 are. fast: one digit of eight bits where that is faster, as most engines do.
enum class Accuracy : uint8_t { exact, fast };

class Machine {
  public:
    Machine() = default;
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    virtual ~Machine() = default;

    // What activations become before they meet weights of at most seven bits; others take two_i16. none: there are no kernels.
    [[nodiscard]] virtual Digits digits(Accuracy accuracy) const = 0;
    // Makes the memory at least this large; false where there is no more.
    virtual bool grow(uint64_t bytes) = 0;
    virtual void write(Address to, std::span<const uint8_t> bytes) = 0;
    virtual void read(Address from, std::span<uint8_t> out) = 0;
    // Runs ops one after the other; each begins when the one before it has ended.
    virtual Status run(Address step, Address ops, uint32_t count) = 0;
};

// Who uses which part of a machine's memory.
class Heap {
  public:
    explicit Heap(Machine& machine) : machine_(machine) {}

    // The smallest address at which so many bytes are free; they have any values.
    Result<Address> take(uint64_t bytes);
    void give_back(Address at);
    [[nodiscard]] Machine& machine() const { return machine_; }
    [[nodiscard]] uint64_t bytes() const;  // in use
    // Whether so much more can be had at all; whether the machine gives it shows when it is taken.
    [[nodiscard]] Status check_room(uint64_t bytes, std::string_view what) const;

  private:
    struct Range {
        uint64_t at;
        uint64_t bytes;
    };
    Machine& machine_;
    std::vector<Range> used_;  // by address
    uint64_t grown_ = 0;
};

// Parts of a heap that live as long as this.
class Blocks {
  public:
    explicit Blocks(Heap& heap) : heap_(heap) {}
    ~Blocks() {
        for (const Address at : taken_) heap_.give_back(at);
    }
    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;

    Result<Address> take(uint64_t bytes) {
        const Address at = TRY(heap_.take(bytes));
        taken_.push_back(at);
        return at;
    }
    template <class T>
    Result<Address> take_for(std::span<const T> values) {
        const Address at = TRY(take(values.size_bytes()));
        heap_.machine().write(at, {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
        return at;
    }
    [[nodiscard]] Heap& heap() const { return heap_; }

  private:
    Heap& heap_;
    std::vector<Address> taken_;
};

}  // namespace lapidary::cpu
