#include "api/wasm_gpu.h"

#include <vector>

#define LAPIDARY_IMPORT(name) __attribute__((import_module("gpu"), import_name(#name)))

namespace {

extern "C" {
LAPIDARY_IMPORT(available) uint32_t gpu_available();
LAPIDARY_IMPORT(open) void gpu_open(uint32_t op, const char* options, size_t size);
LAPIDARY_IMPORT(info) size_t gpu_info(char* out, size_t capacity);
LAPIDARY_IMPORT(buffer) uint32_t gpu_buffer(double bytes, uint32_t usage, const char* label, size_t size);
LAPIDARY_IMPORT(release) void gpu_release(uint32_t id);
LAPIDARY_IMPORT(write) void gpu_write(uint32_t buffer, double offset, const uint8_t* bytes, size_t size);
LAPIDARY_IMPORT(read) void gpu_read(uint32_t op, uint32_t buffer, double offset, uint8_t* out, size_t size);
LAPIDARY_IMPORT(pipeline)
uint32_t gpu_pipeline(uint32_t op, const char* wgsl, size_t wgsl_size, const char* label, size_t label_size,
                      const void* bindings, size_t n_bindings, const char* constants, size_t constants_size);
LAPIDARY_IMPORT(bind_group) uint32_t gpu_bind_group(uint32_t pipeline, const double* entries, size_t n);
LAPIDARY_IMPORT(program) uint32_t gpu_program(const void* commands, size_t n);
LAPIDARY_IMPORT(run) void gpu_run(uint32_t program);
LAPIDARY_IMPORT(time) void gpu_time(uint32_t op, uint32_t program, uint32_t repeat, void* out);
LAPIDARY_IMPORT(sync) void gpu_sync(uint32_t op);
}

using namespace lapidary;

class WasmGpu final : public api::GpuHost {
  public:
    bool available() override { return gpu_available() != 0; }
    void open(uint32_t op, std::string_view options) override { gpu_open(op, options.data(), options.size()); }
    std::string info_json() override {
        std::string text(gpu_info(nullptr, 0), '\0');
        gpu_info(text.data(), text.size());
        return text;
    }
    gpu::Id buffer(uint64_t bytes, gpu::Usage usage, std::string_view label) override {
        return gpu_buffer(double(bytes), uint32_t(usage), label.data(), label.size());
    }
    void release(gpu::Id id) override { gpu_release(id); }
    void write(gpu::Id buffer, uint64_t offset, std::span<const uint8_t> bytes) override {
        gpu_write(buffer, double(offset), bytes.data(), bytes.size());
    }
    void read(uint32_t op, gpu::Id buffer, uint64_t offset, std::span<uint8_t> out) override {
        gpu_read(op, buffer, double(offset), out.data(), out.size());
    }
    gpu::Id pipeline(uint32_t op, std::string_view wgsl, std::string_view label, std::span<const gpu::Access> bindings,
                     std::string_view constants) override {
        return gpu_pipeline(op, wgsl.data(), wgsl.size(), label.data(), label.size(), bindings.data(), bindings.size(),
                            constants.data(), constants.size());
    }
    gpu::Id bind_group(gpu::Id pipeline, std::span<const gpu::Binding> bindings) override {
        std::vector<double> entries;
        entries.reserve(3 * bindings.size());
        for (const gpu::Binding& binding : bindings) {
            entries.insert(entries.end(), {double(binding.buffer), double(binding.offset), double(binding.size)});
        }
        return gpu_bind_group(pipeline, entries.data(), bindings.size());
    }
    gpu::Id program(std::span<const gpu::Command> commands) override {
        return gpu_program(commands.data(), commands.size());
    }
    void run(gpu::Id program) override { gpu_run(program); }
    void time(uint32_t op, gpu::Id program, uint32_t repeat, std::span<uint8_t> out) override {
        gpu_time(op, program, repeat, out.data());
    }
    void sync(uint32_t op) override { gpu_sync(op); }
};

}  // namespace

namespace lapidary::api {

GpuHost& wasm_gpu() {
    static WasmGpu gpu;
    return gpu;
}

}  // namespace lapidary::api
