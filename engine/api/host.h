// Host: everything the engine may ask of the world outside. In WebAssembly these are the imports; in native tests
// a fake. Calls that take time carry an operation number, and the host answers with Api::complete.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/log.h"

namespace lapidary::api {

class Host {
  public:
    Host() = default;
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    virtual ~Host() = default;

    // Milliseconds since some fixed moment.
    virtual double now() = 0;

    // Fill `out` with the bytes of a source at `offset`, then complete `op`. `out` stays valid until then.
    virtual void read(uint32_t op, uint32_t source, uint64_t offset, std::span<uint8_t> out) = 0;
    // Store `bytes` in a sink at `offset`, then complete `op`. `bytes` stay valid until then.
    virtual void write(uint32_t op, uint32_t sink, uint64_t offset, std::span<const uint8_t> bytes) = 0;
    // Complete `op` as soon as the host has done what else it had to do.
    virtual void defer(uint32_t op) = 0;

    // Something happened in a running call.
    virtual void emit(uint32_t call, std::string_view json) = 0;
    // A call is over. With `ok` false, json is {"code", "message"}.
    virtual void finish(uint32_t call, bool ok, std::string_view json, std::span<const uint8_t> blob) = 0;
};

}  // namespace lapidary::api
