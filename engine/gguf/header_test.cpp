#include "gguf/header.h"

#include <gtest/gtest.h>

#include "testing/files.h"

namespace lapidary::gguf {
namespace {

TEST(GgufHeader, ReadsAModelByRanges) {
    auto bytes = testing::read_file("tests/data/fixtures/tiny-e2b-q4km.gguf");
    ASSERT_TRUE(bytes);
    const uint64_t length = bytes->size();
    MemorySource source(std::move(*bytes));
    const auto header = *read_header(source, {}).run_now();
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->string("general.architecture"), "gemma4");
    EXPECT_EQ(header->version, 3u);
    EXPECT_LT(header->bytes->size(), length);
    ASSERT_NE(header->find_tensor("token_embd.weight"), nullptr);
    EXPECT_EQ(header->find_tensor("token_embd.weight")->type->name, "Q6_K");
}

}  // namespace
}  // namespace lapidary::gguf
