// The door between WebAssembly and its host: the imports behind `Host`, and the exports the host calls.
// What each one promises is in docs/architecture.md; the other side is packages/lapidary/src/engine.ts.
#include <cstdlib>
#include <new>
#include <optional>

#include "api/api.h"
#include "api/wasm_cpu.h"
#include "api/wasm_gpu.h"
#include "api/wasm_methods.h"

#define LAPIDARY_IMPORT(name) __attribute__((import_module("host"), import_name(#name)))
#define LAPIDARY_EXPORT(name) extern "C" __attribute__((export_name(#name)))

using lapidary::api::Api;

namespace {

extern "C" {
LAPIDARY_IMPORT(log) void host_log(uint32_t level, const char* text, size_t size);
LAPIDARY_IMPORT(now) double host_now();
LAPIDARY_IMPORT(read) void host_read(uint32_t op, uint32_t source, double offset, size_t size, uint8_t* out);
LAPIDARY_IMPORT(write) void host_write(uint32_t op, uint32_t sink, double offset, const uint8_t* bytes, size_t size);
LAPIDARY_IMPORT(defer) void host_defer(uint32_t op);
LAPIDARY_IMPORT(emit) void host_emit(uint32_t call, const char* json, size_t size);
LAPIDARY_IMPORT(finish)
void host_finish(uint32_t call, uint32_t ok, const char* json, size_t json_size, const uint8_t* blob, size_t blob_size);
}

// Offsets cross as doubles: exact up to 2⁵³, and no BigInt on the other side.
class WasmHost final : public lapidary::api::Host {
  public:
    double now() override { return host_now(); }
    void read(uint32_t op, uint32_t source, uint64_t offset, std::span<uint8_t> out) override {
        host_read(op, source, double(offset), out.size(), out.data());
    }
    void write(uint32_t op, uint32_t sink, uint64_t offset, std::span<const uint8_t> bytes) override {
        host_write(op, sink, double(offset), bytes.data(), bytes.size());
    }
    void defer(uint32_t op) override { host_defer(op); }
    void emit(uint32_t call, std::string_view json) override { host_emit(call, json.data(), json.size()); }
    void finish(uint32_t call, bool ok, std::string_view json, std::span<const uint8_t> blob) override {
        host_finish(call, ok ? 1 : 0, json.data(), json.size(), blob.data(), blob.size());
    }
};

Api& api() {
    static WasmHost host;
    static Api instance(host, &lapidary::api::wasm_gpu(), lapidary::api::more_methods(), &lapidary::api::wasm_cpu());
    return instance;
}

}  // namespace

// What the host makes a sentence of (packages/lapidary/src/engine.ts).
constexpr int kExitOutOfMemory = 12;

// Called once by _initialize.
__attribute__((constructor)) static void connect_log() {
    lapidary::set_log_sink([](lapidary::LogLevel level, std::string_view message) {
        host_log(uint32_t(level), message.data(), message.size());
    });
    // There are no exceptions, so this is the end of the engine, but not without a word.
    std::set_new_handler([] { std::_Exit(kExitOutOfMemory); });
}

LAPIDARY_EXPORT(lapidary_alloc) void* lapidary_alloc(size_t size) {
    return std::malloc(size == 0 ? 1 : size);
}

LAPIDARY_EXPORT(lapidary_free) void lapidary_free(void* pointer) {
    std::free(pointer);
}

LAPIDARY_EXPORT(lapidary_call)
void lapidary_call(uint32_t call, const char* method, size_t method_size, const char* json, size_t json_size,
                   const uint8_t* blob, size_t blob_size) {
    api().call(call, {method, method_size}, {json, json_size}, {blob, blob_size});
}

LAPIDARY_EXPORT(lapidary_cancel) void lapidary_cancel(uint32_t call) {
    api().cancel(call);
}

LAPIDARY_EXPORT(lapidary_complete) void lapidary_complete(uint32_t op, const char* error, size_t error_size) {
    api().complete(op, error == nullptr ? std::nullopt : std::optional(std::string(error, error_size)));
}
