#include "api/wasm_cpu.h"

#define LAPIDARY_IMPORT(name) __attribute__((import_module("cpu"), import_name(#name)))

namespace {

extern "C" {
LAPIDARY_IMPORT(digits) uint32_t cpu_digits(uint32_t fast);
LAPIDARY_IMPORT(grow) uint32_t cpu_grow(double bytes);
LAPIDARY_IMPORT(write) void cpu_write(uint32_t to, const uint8_t* bytes, size_t size);
LAPIDARY_IMPORT(read) void cpu_read(uint32_t from, uint8_t* out, size_t size);
LAPIDARY_IMPORT(run) uint32_t cpu_run(uint32_t step, uint32_t ops, uint32_t count);
}

using namespace lapidary;

class WasmCpu final : public cpu::Machine {
  public:
    [[nodiscard]] cpu::Digits digits(cpu::Accuracy accuracy) const override {
        return cpu::Digits(cpu_digits(accuracy == cpu::Accuracy::fast ? 1 : 0));
    }
    bool grow(uint64_t bytes) override { return cpu_grow(double(bytes)) != 0; }
    void write(cpu::Address to, std::span<const uint8_t> bytes) override { cpu_write(to, bytes.data(), bytes.size()); }
    void read(cpu::Address from, std::span<uint8_t> out) override { cpu_read(from, out.data(), out.size()); }
    Status run(cpu::Address step, cpu::Address ops, uint32_t count) override {
        if (cpu_run(step, ops, count) == 0) return {};
        return fail(Code::internal,
                    "a thread of the CPU backend ended in the middle of its work; the next call does without it");
    }
};

}  // namespace

namespace lapidary::api {

cpu::Machine& wasm_cpu() {
    static WasmCpu cpu;
    return cpu;
}

}  // namespace lapidary::api
