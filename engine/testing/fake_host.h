// A host in memory: sources and sinks are byte arrays, and nothing happens until the test says so.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/api.h"

namespace lapidary::testing {

struct FinishedCall {
    bool ok = false;
    nlohmann::json json;
    Bytes blob;
};

class FakeHost final : public api::Host {
  public:
    std::map<uint32_t, Bytes> sources;
    std::map<uint32_t, Bytes> sinks;
    std::map<uint32_t, std::vector<nlohmann::json>> events;
    std::map<uint32_t, FinishedCall> finished;
    std::map<uint32_t, std::string> broken_sources;  // reading one of these fails with this sentence
    uint64_t bytes_read = 0;

    double now() override { return clock_ += 20; }  // every look at the clock is a breath later
    void read(uint32_t op, uint32_t source, uint64_t offset, std::span<uint8_t> out) override {
        todo_.push_back([this, op, source, offset, out](api::Api& api) {
            if (broken_sources.contains(source)) return api.complete(op, broken_sources[source]);
            bytes_read += out.size();
            std::copy_n(sources[source].begin() + ptrdiff_t(offset), out.size(), out.begin());
            api.complete(op, std::nullopt);
        });
    }
    void write(uint32_t op, uint32_t sink, uint64_t offset, std::span<const uint8_t> bytes) override {
        todo_.push_back([this, op, sink, offset, bytes](api::Api& api) {
            Bytes& target = sinks[sink];
            if (target.size() < offset + bytes.size()) target.resize(size_t(offset + bytes.size()));
            std::ranges::copy(bytes, target.begin() + ptrdiff_t(offset));
            api.complete(op, std::nullopt);
        });
    }
    void defer(uint32_t op) override {
        todo_.push_back([op](api::Api& api) { api.complete(op, std::nullopt); });
    }
    void emit(uint32_t call, std::string_view json) override {
        events[call].push_back(nlohmann::json::parse(json, nullptr, false));
    }
    void finish(uint32_t call, bool ok, std::string_view json, std::span<const uint8_t> blob) override {
        finished[call] = {ok, nlohmann::json::parse(json, nullptr, false), Bytes(blob.begin(), blob.end())};
    }

    // Does the oldest thing asked for; false when there is nothing.
    bool step(api::Api& api) {
        if (todo_.empty()) return false;
        const auto next = std::move(todo_.front());
        todo_.pop_front();
        next(api);
        return true;
    }
    void run(api::Api& api) {
        while (step(api)) {
        }
    }

  private:
    double clock_ = 0;
    std::deque<std::function<void(api::Api&)>> todo_;
};

}  // namespace lapidary::testing
