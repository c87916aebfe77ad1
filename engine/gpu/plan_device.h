// A device that only takes notes: what would be allocated, compiled and recorded. Programs can be looked at, and memory
// added up, without a GPU and without weights.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "gpu/device.h"

namespace lapidary::gpu {

class PlanDevice final : public Device {
  public:
    struct Buffer {
        uint64_t bytes = 0;
        std::string label;
        std::map<uint64_t, uint64_t> writes;  // where one began, and a checksum of what was written there last
    };
    struct Pipeline {
        std::string wgsl, label;
        std::vector<Access> bindings;
        std::map<std::string, double, std::less<>> constants;
    };
    struct Group {
        Id pipeline = 0;
        std::vector<Binding> bindings;
    };

    explicit PlanDevice(Info info) : info_(std::move(info)) {}

    [[nodiscard]] const Buffer& buffer(Id id) const { return buffers_.at(id); }
    [[nodiscard]] const Pipeline& pipeline(Id id) const { return pipelines_.at(id); }
    [[nodiscard]] const Group& group(Id id) const { return groups_.at(id); }
    [[nodiscard]] const std::vector<Command>& program(Id id) const { return programs_.at(id); }
    // All that are there, in the order in which they were made.
    [[nodiscard]] std::vector<Id> programs() const {
        std::vector<Id> out;
        out.reserve(programs_.size());
        for (const auto& [id, commands] : programs_) out.push_back(id);
        return out;
    }
    // What was run, in order.
    [[nodiscard]] const std::vector<Id>& runs() const { return runs_; }
    [[nodiscard]] uint64_t bytes() const {
        uint64_t sum = 0;
        for (const auto& [id, buffer] : buffers_) sum += buffer.bytes;
        return sum;
    }

    Task<Status> open(std::vector<std::string>, Cancel) override { co_return Status{}; }
    [[nodiscard]] const Info& info() const override { return info_; }
    Result<Id> buffer(uint64_t bytes, Usage, std::string_view label) override {
        if (bytes > info_.max_buffer_bytes) {
            return fail(Code::out_of_memory, "a buffer of {} bytes is larger than this GPU allows", bytes);
        }
        buffers_[++last_] = {.bytes = bytes, .label = std::string(label), .writes = {}};
        return last_;
    }
    void release(Id id) override {
        buffers_.erase(id);
        pipelines_.erase(id);
        groups_.erase(id);
        programs_.erase(id);
    }
    void write(Id buffer, uint64_t offset, std::span<const uint8_t> bytes) override {
        Checksum sum;
        sum.add(bytes);
        buffers_[buffer].writes[offset] = sum.value();
    }
    // Ones, as floats: nothing was computed, and they can be divided by.
    Task<Result<std::vector<uint8_t>>> read(Id, uint64_t, uint64_t size, Cancel) override {
        constexpr std::array<uint8_t, 4> kOne = {0, 0, 0x80, 0x3f};
        std::vector<uint8_t> out(size);
        for (uint64_t i = 0; i < size; ++i) out[i] = kOne[i % 4];
        co_return out;
    }
    Task<Result<Id>> pipeline(std::string wgsl, std::string label, std::vector<Access> bindings,
                              std::vector<Constant> constants, Cancel) override {
        Pipeline& made = pipelines_[++last_];
        made = {.wgsl = std::move(wgsl), .label = std::move(label), .bindings = std::move(bindings), .constants = {}};
        for (const Constant& constant : constants) made.constants[std::string(constant.name)] = constant.value;
        co_return last_;
    }
    Result<Id> bind_group(Id pipeline, std::span<const Binding> bindings) override {
        groups_[++last_] = {.pipeline = pipeline, .bindings = {bindings.begin(), bindings.end()}};
        return last_;
    }
    Result<Id> program(std::span<const Command> commands) override {
        programs_[++last_] = {commands.begin(), commands.end()};
        return last_;
    }
    void run(Id program) override { runs_.push_back(program); }
    Task<Result<double>> time(Id, uint32_t, Cancel) override { co_return 0.0; }
    Task<Status> sync(Cancel) override { co_return Status{}; }

  private:
    Info info_;
    Id last_ = 0;
    std::map<Id, Buffer> buffers_;
    std::map<Id, Pipeline> pipelines_;
    std::map<Id, Group> groups_;
    std::map<Id, std::vector<Command>> programs_;
    std::vector<Id> runs_;
};

}  // namespace lapidary::gpu
