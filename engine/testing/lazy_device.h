// A GPU that holds buffers and accepts everything, but no kernel ever runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "gpu/device.h"

namespace lapidary::testing {

class LazyDevice final : public gpu::Device {
  public:
    explicit LazyDevice(bool modern) {
        info_.subgroups = modern;
        info_.subgroup_min = 32;
        info_.packed_dot = modern;
    }
    Task<Status> open(std::vector<std::string>, Cancel) override { co_return Status{}; }
    [[nodiscard]] const gpu::Info& info() const override { return info_; }
    Result<gpu::Id> buffer(uint64_t bytes, gpu::Usage, std::string_view) override {
        if (bytes > room - std::min(room, this->bytes())) return fail(Code::out_of_memory, "no room");
        buffers_[++last_].resize(size_t(bytes));
        live_.insert(last_);
        return last_;
    }
    void release(gpu::Id id) override {
        buffers_.erase(id);
        live_.erase(id);
    }
    void write(gpu::Id buffer, uint64_t offset, std::span<const uint8_t> bytes) override {
        std::ranges::copy(bytes, buffers_[buffer].begin() + ptrdiff_t(offset));
    }
    Task<Result<std::vector<uint8_t>>> read(gpu::Id buffer, uint64_t offset, uint64_t size, Cancel) override {
        const std::span<const uint8_t> bytes = std::span(buffers_[buffer]).subspan(size_t(offset), size_t(size));
        co_return std::vector<uint8_t>(bytes.begin(), bytes.end());
    }
    Task<Result<gpu::Id>> pipeline(std::string wgsl, std::string label, std::vector<gpu::Access> bindings,
                                   std::vector<gpu::Constant>, Cancel) override {
        if (label.starts_with("moe_route") && broken)
            co_return fail(Code::internal, "kernel 'moe_route': line 1: broken");
        EXPECT_NE(wgsl.find("fn main"), std::string::npos);
        bindings_[++last_] = bindings.size();
        live_.insert(last_);
        co_return last_;
    }
    Result<gpu::Id> bind_group(gpu::Id pipeline, std::span<const gpu::Binding> bindings) override {
        EXPECT_EQ(bindings.size(), bindings_[pipeline]);
        for (const gpu::Binding& binding : bindings) EXPECT_EQ(binding.size % 4, 0u);
        live_.insert(++last_);
        return last_;
    }
    Result<gpu::Id> program(std::span<const gpu::Command>) override {
        live_.insert(++last_);
        return last_;
    }
    void run(gpu::Id) override {}
    Task<Result<double>> time(gpu::Id, uint32_t, Cancel) override { co_return 0.0; }
    Task<Status> sync(Cancel) override { co_return Status{}; }

    [[nodiscard]] size_t live() const { return live_.size(); }
    [[nodiscard]] uint64_t bytes() const {
        uint64_t sum = 0;
        for (const auto& [id, buffer] : buffers_) sum += buffer.size();
        return sum;
    }
    bool broken = false;
    uint64_t room = ~uint64_t{0};

  private:
    gpu::Info info_;
    gpu::Id last_ = 0;
    std::map<gpu::Id, std::vector<uint8_t>> buffers_;
    std::map<gpu::Id, size_t> bindings_;
    std::set<gpu::Id> live_;
};

}  // namespace lapidary::testing
