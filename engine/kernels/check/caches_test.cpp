#include "kernels/check/caches.h"

#include <gtest/gtest.h>

namespace lapidary::kernels::check {
namespace {

double largest_difference(KvFormat kv, std::span<const float> row) {
    const KvRow size = kv_row(kv, row.size());
    std::vector<uint8_t> bytes(size.bytes + size.scale_bytes);
    pack_row(kv, row, bytes.data(), bytes.data() + size.bytes);
    const std::vector<float> back = unpacked({.kv = kv, .rows = 1, .dim = row.size()}, bytes);
    double out = 0;
    for (size_t i = 0; i < row.size(); ++i) out = std::max(out, std::abs(double(back[i]) - double(row[i])));
    return out;
}

TEST(Cache, KeepsARowAsExactlyAsItsFormatCan) {
    Random random(1);
    const std::vector<float> row = random.floats(288);
    EXPECT_EQ(largest_difference(KvFormat::f32, row), 0);
    EXPECT_LE(largest_difference(KvFormat::f16, row), 0x1p-12);
    EXPECT_LE(largest_difference(KvFormat::i16, row), 0.51 / 32767);
    const double q8 = largest_difference(KvFormat::q8, row);
    EXPECT_LE(q8, 0.57 / 127) << "half a step, and what the scale lost";
    EXPECT_GT(q8, 0.4 / 127) << "or it was no byte";
}

TEST(Cache, SeesWhatWasWrittenIntoARowThatHadToStay) {
    Random random(2);
    for (const KvFormat kv : kKvFormats) {
        Cache cache{.ring = 3, .kv_heads = 1, .dim = 32, .kv = kv};
        cache.fill(random);
        const Array array = cache.array();
        std::vector<float> values = unpacked(array.cache, array.before);
        EXPECT_EQ(values, cache.values);
        EXPECT_EQ(array.expected.size(), values.size() + 16);
        std::vector<uint8_t> bytes = array.before;
        bytes[kv_row(kv, 32).bytes + 1] ^= 0x11;
        EXPECT_NE(unpacked(array.cache, bytes), values) << kv_format_name(kv);
    }
}

}  // namespace
}  // namespace lapidary::kernels::check
