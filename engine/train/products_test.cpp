#include "train/products.h"

#include <gtest/gtest.h>

#include "quant/encode.h"
#include "reference/ops.h"
#include "testing/safetensors.h"
#include "train/ops.h"
#include "train/test_numbers.h"

namespace lapidary::train {
namespace {

using testing::relative_l2;

// Tiles are four tokens by two rows, or eight columns; panels sixteen rows: sizes on both sides of each.
TEST(Products, EqualTheObviousOnesForEveryRemainder) {
    for (const size_t tokens : {1, 2, 3, 4, 5, 9}) {
        for (const size_t rows : {1, 2, 15, 16, 17, 35}) {
            for (const size_t cols : {3, 8, 32, 37}) {
                const auto values = numbers(rows * cols, 1);
                const reference::Matrix w{
                    .cols = cols, .rows = rows, .data = reinterpret_cast<const uint8_t*>(values.data())};
                const auto x = numbers(tokens * cols, 2);
                std::vector<float> expected(tokens * rows);
                reference::matmul(w, x, expected);
                std::vector<float> y(tokens * rows);
                product(w, x, y);
                ASSERT_LE(relative_l2(y, expected), 1e-5) << tokens << " × " << rows << " × " << cols;

                const auto dy = numbers(tokens * rows, 3);
                std::vector<float> dx_expected = x;  // it adds
                matmul_backward(w, dy, dx_expected);
                std::vector<float> dx = x;
                add_product_backward(w, dy, dx);
                ASSERT_LE(relative_l2(dx, dx_expected), 1e-5) << tokens << " × " << rows << " × " << cols;
            }
        }
    }
}

TEST(Products, DecodeQuantisedRows) {
    constexpr size_t kRows = 33;
    constexpr size_t kCols = 256;
    for (const TensorType type : {TensorType::q4_k, TensorType::q6_k, TensorType::q8_0, TensorType::q4_0}) {
        const auto plain = numbers(kRows * kCols, 4);
        std::vector<uint8_t> blocks(size_t(row_bytes(type, kRows * kCols)));
        quant::encode(type, plain, blocks.data());
        const reference::Matrix w{.type = type, .cols = kCols, .rows = kRows, .data = blocks.data()};
        const auto x = numbers(5 * kCols, 5);
        std::vector<float> expected(5 * kRows);
        std::vector<float> y(5 * kRows);
        reference::matmul(w, x, expected);
        product(w, x, y);
        EXPECT_LE(relative_l2(y, expected), 1e-6);
    }
}

TEST(Products, OfUpdatesEqualTheObviousOnes) {
    for (const uint32_t rank : {1u, 4u, 16u, 19u}) {
        for (const size_t tokens : {1, 6, 40}) {
            const LoraShape slow{.rank = rank, .in = 24, .out = 13, .scale = 0.7f};
            const UpdateShape shape{.rank = rank, .in = 24, .out = 13, .scale = 0.7f};
            const auto a = numbers(rank * shape.in, 6);
            const auto b = numbers(rank * shape.out, 7);
            const auto x = numbers(tokens * shape.in, 8);
            const auto dy = numbers(tokens * shape.out, 9);
            std::vector<float> expected = dy;
            std::vector<float> y = dy;
            lora(slow, a, b, x, expected);
            add_update(shape, a, b, x, y);
            ASSERT_LE(relative_l2(y, expected), 1e-6);

            std::vector<float> grads[2][3];
            for (auto& g : grads) {
                g[0].assign(a.size(), 1);
                g[1].assign(b.size(), 1);
                g[2].assign(x.size(), 1);
            }
            lora_backward(slow, a, b, x, dy, grads[0][0], grads[0][1], grads[0][2]);
            add_update_backward(shape, a, b, x, dy, grads[1][0], grads[1][1], grads[1][2]);
            for (const size_t i : {0, 1, 2}) ASSERT_LE(relative_l2(grads[1][i], grads[0][i]), 1e-6) << i;
        }
    }
}

}  // namespace
}  // namespace lapidary::train
