#include "kernels/attention/flash_prefill.h"

#include <gtest/gtest.h>

namespace lapidary::kernels {
namespace {

TEST(FlashPrefill, TakesAsManyQueriesAsThereIsRoomFor) {
    gpu::Info info;
    info.max_workgroup_bytes = 32'768;
    EXPECT_EQ(flash_prefill_queries(info, 256), 8u);
    EXPECT_EQ(flash_prefill_queries(info, 512), 8u);
    info.max_workgroup_bytes = 16'384;  // what every GPU has
    EXPECT_EQ(flash_prefill_queries(info, 64), 8u);
    EXPECT_EQ(flash_prefill_queries(info, 256), 4u);
    EXPECT_EQ(flash_prefill_queries(info, 512), 4u);
}

}  // namespace
}  // namespace lapidary::kernels
