#include "api/pending_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lapidary::api {
namespace {

// Remembers what it was asked for and does nothing by itself.
class IdleHost final : public Host {
  public:
    struct Asked {
        uint32_t op;
        std::span<uint8_t> out;
    };
    std::vector<Asked> asked;

    double now() override { return 0; }
    void read(uint32_t op, uint32_t /*source*/, uint64_t /*offset*/, std::span<uint8_t> out) override {
        asked.push_back({op, out});
    }
    void write(uint32_t /*op*/, uint32_t /*sink*/, uint64_t /*offset*/, std::span<const uint8_t> /*bytes*/) override {}
    void defer(uint32_t op) override { asked.push_back({op, {}}); }
    void emit(uint32_t /*call*/, std::string_view /*json*/) override {}
    void finish(uint32_t /*call*/, bool /*ok*/, std::string_view /*json*/, std::span<const uint8_t> /*blob*/) override {
    }
};

TEST(PendingOps, WhoeverWaitsMayBeDestroyedBeforeTheAnswerComes) {
    IdleHost host;
    PendingOps ops(host);
    Cancel cancel;
    bool went_on = false;
    {
        auto waits = [](PendingOps& pending, Cancel stop, bool& reached) -> Task<Status> {
            CO_TRY(co_await pending.read(1, {0, 1000}, stop));
            reached = true;
            co_return Status{};
        }(ops, cancel, went_on);
        EXPECT_FALSE(std::move(waits).run_now().has_value());
    }
    ASSERT_EQ(host.asked.size(), 1u);
    // The host still writes where it was told to, and says so.
    std::ranges::fill(host.asked[0].out, 7);
    ops.complete(host.asked[0].op, std::nullopt);
    EXPECT_FALSE(went_on);
    EXPECT_EQ(ops.size(), 0u);
}

TEST(PendingOps, NobodyIsWokenByACancelAfterTheyAreGone) {
    IdleHost host;
    PendingOps ops(host);
    Cancel cancel;
    {
        auto waits = ops.defer(cancel);
        EXPECT_FALSE(std::move(waits).run_now().has_value());
    }
    cancel.request();
    ops.complete(host.asked.at(0).op, "too late");
    EXPECT_EQ(ops.size(), 0u);
}

}  // namespace
}  // namespace lapidary::api
