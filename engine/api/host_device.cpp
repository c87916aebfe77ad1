#include "api/host_device.h"

#include <algorithm>

#include <cstring>

#include "chat/json.h"

namespace lapidary::api {
namespace {

using chat::Json;

uint64_t limit_of(const Json& limits, const char* name, uint64_t other) {
    const Json& value = chat::member(limits, name);
    return value.is_number() ? uint64_t(value.get<double>()) : other;
}

constexpr std::string_view kPackedDot = "packed_4x8_integer_dot_product";

gpu::Info parse_info(std::string_view text) {
    gpu::Info info;
    const auto json = chat::parse_json(text, "the GPU's description");
    if (!json) return info;
    const Json& adapter = chat::member(*json, "adapter");
    for (const char* field : {"vendor", "architecture", "device", "description"}) {
        const std::string_view word = chat::string_of(chat::member(adapter, field));
        if (word.empty()) continue;
        if (!info.adapter.empty()) info.adapter += ' ';
        info.adapter += printable(word);
    }
    // Firefox tells no names.
    if (info.adapter.empty()) info.adapter = "a GPU that does not tell its name";
    for (const Json& feature : chat::member(*json, "features")) {
        info.subgroups |= feature == "subgroups";
        info.f16 |= feature == "shader-f16";
        info.timestamps |= feature == "timestamp-query";
    }
    for (const Json& extension : chat::member(*json, "wgsl")) info.packed_dot |= extension == kPackedDot;
    info.software = chat::member(*json, "software") == true;
    info.subgroup_min = uint32_t(limit_of(*json, "subgroup_min", 0));
    const Json& limits = chat::member(*json, "limits");
    info.max_buffer_bytes = limit_of(limits, "maxBufferSize", info.max_buffer_bytes);
    info.max_binding_bytes = limit_of(limits, "maxStorageBufferBindingSize", info.max_binding_bytes);
    info.max_workgroup_bytes = uint32_t(limit_of(limits, "maxComputeWorkgroupStorageSize", info.max_workgroup_bytes));
    info.max_grid = uint32_t(limit_of(limits, "maxComputeWorkgroupsPerDimension", info.max_grid));
    return info;
}

}  // namespace

Task<Status> HostDevice::open(std::vector<std::string> without, Cancel cancel) {
    if (open_) co_return Status{};
    if (!host_.available()) co_return fail(Code::unsupported, "there is no WebGPU here: use the CPU backend");
    const std::string options = chat::json_text(Json{{"features", without}});
    CO_TRY(
        co_await ops_.run({}, [this, options](uint32_t op, std::span<uint8_t>) { host_.open(op, options); }, cancel));
    info_ = parse_info(host_.info_json());
    // Not a feature one asks for, but one that can be done without.
    if (std::ranges::contains(without, kPackedDot)) info_.packed_dot = false;
    open_ = true;
    co_return Status{};
}

Result<gpu::Id> HostDevice::buffer(uint64_t bytes, gpu::Usage usage, std::string_view label) {
    const gpu::Id id = host_.buffer(bytes, usage, label);
    if (id == 0) {
        return fail(Code::out_of_memory, "the GPU has no {} for '{}': try a smaller model or a shorter context",
                    format_bytes(bytes), label);
    }
    return id;
}

Task<Result<std::vector<uint8_t>>> HostDevice::read(gpu::Id buffer, uint64_t offset, uint64_t size, Cancel cancel) {
    return ops_.run(
        Bytes(size_t(size)),
        [this, buffer, offset](uint32_t op, std::span<uint8_t> out) { host_.read(op, buffer, offset, out); },
        std::move(cancel));
}

Task<Result<gpu::Id>> HostDevice::pipeline(std::string wgsl, std::string label, std::vector<gpu::Access> bindings,
                                           std::vector<gpu::Constant> constants, Cancel cancel) {
    Json json = Json::object();
    for (const gpu::Constant& constant : constants) json[std::string(constant.name)] = constant.value;
    const std::string text = chat::json_text(json);
    auto id = std::make_shared<gpu::Id>(0);
    CO_TRY(co_await ops_.run(
        {},
        [this, wgsl = std::move(wgsl), label = std::move(label), bindings = std::move(bindings), text, id](
            uint32_t op, std::span<uint8_t>) { *id = host_.pipeline(op, wgsl, label, bindings, text); },
        cancel));
    co_return *id;
}

Result<gpu::Id> HostDevice::bind_group(gpu::Id pipeline, std::span<const gpu::Binding> bindings) {
    const gpu::Id id = host_.bind_group(pipeline, bindings);
    if (id == 0) return fail(Code::internal, "the GPU refused the bindings of a kernel");
    return id;
}

Result<gpu::Id> HostDevice::program(std::span<const gpu::Command> commands) {
    const gpu::Id id = host_.program(commands);
    if (id == 0) return fail(Code::internal, "the GPU refused a program");
    return id;
}

Task<Result<double>> HostDevice::time(gpu::Id program, uint32_t repeat, Cancel cancel) {
    const Bytes bytes = CO_TRY(co_await ops_.run(
        Bytes(sizeof(double)),
        [this, program, repeat](uint32_t op, std::span<uint8_t> out) { host_.time(op, program, repeat, out); },
        cancel));
    double nanoseconds = 0;
    std::memcpy(&nanoseconds, bytes.data(), sizeof(nanoseconds));
    co_return nanoseconds;
}

Task<Status> HostDevice::sync(Cancel cancel) {
    CO_TRY(co_await ops_.run({}, [this](uint32_t op, std::span<uint8_t>) { host_.sync(op); }, cancel));
    co_return Status{};
}

}  // namespace lapidary::api
