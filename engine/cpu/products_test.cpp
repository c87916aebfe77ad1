// Packed products against sums of decoded weights in doubles, over odd shapes and hostile values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpu/local_machine.h"
#include "cpu/packed.h"
#include "cpu/place.h"
#include "quant/decode.h"
#include "quant/testing/vectors.h"

namespace lapidary::cpu {
namespace {

using quant::testing::Random;

struct Case {
    TensorType type;
    Digits digits;
};

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
    constexpr const char* kNames[] = {"", "TwoI16", "ThreeI8", "OneI8"};
    return std::string(tensor_type_name(info.param.type)) + "_" + kNames[size_t(info.param.digits)];
}

// Random blocks: any bytes are weights, but scales that are no numbers or huge ones would drown the others.
Bytes random_rows(TensorType type, uint64_t rows, uint64_t cols, Random& random) {
    const TensorTypeInfo& info = tensor_type_info(type);
    Bytes out(size_t(rows * row_bytes(type, cols)));
    std::vector<float> decoded(info.block_elements);
    for (size_t at = 0; at < out.size(); at += info.block_bytes) {
        float largest = 0;
        do {
            for (size_t i = 0; i < info.block_bytes; ++i) out[at + i] = random.byte();
            quant::decode(type, out.data() + at, decoded);
            largest = 0;
            for (const float v : decoded) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : 1e9f;
        } while (!(largest < 1e4f && largest > 1e-3f));
    }
    return out;
}

class Products : public ::testing::TestWithParam<Case> {
  protected:
    void SetUp() override { machine_ = std::make_unique<LocalMachine>(GetParam().digits); }

    // y = W · x, [tokens, rows]. count: tokens that go together.
    std::vector<float> multiply(const Bytes& raw, uint32_t rows, uint32_t cols, const std::vector<float>& x,
                                uint32_t count) {
        Heap heap(*machine_);
        Blocks blocks(heap);
        const auto tokens = uint32_t(x.size() / cols);
        const Matrix w = *new_matrix(blocks, GetParam().type, rows, cols);
        EXPECT_TRUE(fill_matrix(heap, w, GetParam().type, 0, rows, raw));
        const Digits digits = digits_for(w.form, GetParam().digits);
        const Address x_at = *blocks.take_for(std::span(x));
        const Address y_at = *blocks.take(4 * size_t(count) * rows);
        const Address digits_at = *blocks.take(uint64_t{count} * digit_row_bytes(digits, cols));
        std::vector<float> y;
        for (uint32_t first = 0; first < tokens; first += count) {
            const uint32_t n = std::min(count, tokens - first);
            std::vector<Op> ops(2);
            ops[0] = {.kind = Kind::digits,
                      .work = 0,
                      .digits = {.x = {x_at + 4 * first * cols, cols},
                                 .cols = cols,
                                 .digits = digits,
                                 .out = digits_at,
                                 .per_token = 1}};
            ops[1] = {
                .kind = Kind::product,
                .work = 0,
                .product = {.w = w, .digits = digits, .adds = 0, .scale = 1, .x = {digits_at, 0}, .y = {y_at, rows}}};
            if (digits == Digits::none) {
                ops.erase(ops.begin());
                ops[0].product.x = {x_at + 4 * first * cols, cols};
            }
            run_now(blocks, ops, {.position = 0, .count = n, .ids = {}});
            std::vector<float> part(size_t(n) * rows);
            machine_->read(y_at, {reinterpret_cast<uint8_t*>(part.data()), part.size() * 4});
            y.insert(y.end(), part.begin(), part.end());
        }
        return y;
    }

    static void run_now(Blocks& blocks, const std::vector<Op>& ops, const Step& step) {
        const Address ops_at = *blocks.take_for(std::span<const Op>(ops));
        const Address step_at = *blocks.take_for(std::span<const Step>(&step, 1));
        EXPECT_TRUE(blocks.heap().machine().run(step_at, ops_at, uint32_t(ops.size())));
    }

    static std::vector<double> expected(const Bytes& raw, uint32_t rows, uint32_t cols, const std::vector<float>& x,
                                        std::vector<double>& sizes) {
        std::vector<float> w(size_t(rows) * cols);
        quant::decode(GetParam().type, raw.data(), w);
        std::vector<double> y(x.size() / cols * rows);
        sizes.assign(y.size(), 0);
        for (size_t i = 0; i < y.size(); ++i) {
            for (size_t k = 0; k < cols; ++k) {
                const double term = double(w[i % rows * cols + k]) * double(x[i / rows * cols + k]);
                y[i] += term;
                sizes[i] += term * term;
            }
        }
        return y;
    }

    [[nodiscard]] uint32_t unit() const {
        return std::max<uint32_t>(16, tensor_type_info(GetParam().type).block_elements);
    }
    [[nodiscard]] double tolerance() const {
        return GetParam().digits == Digits::one_i8 && is_packed(form_of(GetParam().type)) &&
                       digits_for(form_of(GetParam().type), GetParam().digits) == Digits::one_i8
                   ? 2e-2
                   : 1e-6;
    }

    std::unique_ptr<LocalMachine> machine_;
    Random random_{7};
};

TEST_P(Products, EqualSumsInDoublesOnOddShapes) {
    for (const uint32_t rows : {1u, 7u, 8u, 13u, 24u}) {
        for (const uint32_t units : {1u, 2u, 9u, 21u}) {
            const uint32_t cols = units * unit();
            const Bytes raw = random_rows(GetParam().type, rows, cols, random_);
            const std::vector<float> x = random_.weights(5 * size_t(cols), 3);
            const std::vector<float> y = multiply(raw, rows, cols, x, 5);
            std::vector<double> sizes;
            const std::vector<double> want = expected(raw, rows, cols, x, sizes);
            for (size_t i = 0; i < y.size(); ++i) {
                ASSERT_LE(std::abs(double(y[i]) - want[i]), tolerance() * std::sqrt(sizes[i]) * 4)
                    << rows << " × " << cols << ", row " << i % rows << " of token " << i / rows;
            }
        }
    }
}

TEST_P(Products, GiveTheSameBitsHoweverTokensAreCut) {
    const uint32_t cols = 10 * unit();
    const Bytes raw = random_rows(GetParam().type, 19, cols, random_);
    const std::vector<float> x = random_.weights(64 * size_t(cols), 1);
    const std::vector<float> together = multiply(raw, 19, cols, x, 64);
    for (const uint32_t count : {1u, 2u, 3u, 17u}) EXPECT_EQ(multiply(raw, 19, cols, x, count), together) << count;
}

TEST_P(Products, SurviveHostileActivations) {
    const uint32_t cols = 8 * unit();
    const Bytes raw = random_rows(GetParam().type, 8, cols, random_);
    std::vector<float> zeros(cols), tiny(cols, 1e-40f), lone(cols), huge(cols);
    lone[cols - 1] = 1e-20f;
    for (uint32_t i = 0; i < cols; ++i) huge[i] = i % 2 == 0 ? 1e33f : -1e33f;
    for (const float v : multiply(raw, 8, cols, zeros, 1)) EXPECT_EQ(v, 0);
    for (const float v : multiply(raw, 8, cols, tiny, 1)) EXPECT_LE(std::abs(v), 1e-30f);
    for (const std::vector<float>& x : {lone, huge}) {
        std::vector<double> sizes;
        const std::vector<double> want = expected(raw, 8, cols, x, sizes);
        const std::vector<float> y = multiply(raw, 8, cols, x, 1);
        for (size_t i = 0; i < y.size(); ++i) {
            EXPECT_LE(std::abs(double(y[i]) - want[i]), tolerance() * std::sqrt(sizes[i]) * 16) << i;
        }
    }
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        std::vector<float> x(cols, 1);
        x[cols / 2] = bad;
        for (const float v : multiply(raw, 8, cols, x, 1)) EXPECT_FALSE(std::isfinite(v));
    }
}

TEST_P(Products, TakeAnyBytesForWeights) {
    const uint32_t cols = 4 * unit();
    Bytes raw(size_t(8 * row_bytes(GetParam().type, cols)));
    for (const uint8_t byte : {uint8_t(0), uint8_t(0xFF), uint8_t(0x7C), uint8_t(0x80)}) {
        std::ranges::fill(raw, byte);
        const std::vector<float> x = random_.weights(cols, 1);
        std::vector<double> sizes;
        const std::vector<double> want = expected(raw, 8, cols, x, sizes);
        const std::vector<float> y = multiply(raw, 8, cols, x, 1);
        for (size_t i = 0; i < y.size(); ++i) {
            if (std::isfinite(want[i]) && std::abs(want[i]) < 1e38 && sizes[i] < 1e70) {
                EXPECT_LE(std::abs(double(y[i]) - want[i]), tolerance() * std::sqrt(sizes[i]) * 16 + 1e-30)
                    << int(byte);
            } else if (std::isnan(want[i])) {
                EXPECT_FALSE(std::isfinite(y[i])) << int(byte);
            }
        }
    }
}

TEST_P(Products, LookRowsUpAsTheyAreDecoded) {
    const uint32_t cols = 3 * unit();
    const Bytes raw = random_rows(GetParam().type, 13, cols, random_);
    Heap heap(*machine_);
    Blocks blocks(heap);
    const Matrix w = *new_matrix(blocks, GetParam().type, 13, cols);
    ASSERT_TRUE(fill_matrix(heap, w, GetParam().type, 0, 13, raw));
    const Address y_at = *blocks.take(4 * size_t(3) * cols);
    const Op op{.kind = Kind::embed, .work = 0, .embed = {.table = w, .y = {y_at, cols}, .scale = 1}};
    Step step{.position = 0, .count = 3, .ids = {12, 0, 5}};
    run_now(blocks, {op}, step);
    std::vector<float> got(size_t(3) * cols), want(size_t(13) * cols);
    machine_->read(y_at, {reinterpret_cast<uint8_t*>(got.data()), got.size() * 4});
    quant::decode(GetParam().type, raw.data(), want);
    for (size_t t = 0; t < 3; ++t) {
        for (size_t i = 0; i < cols; ++i)
            EXPECT_EQ(got[t * cols + i], want[size_t(step.ids[t]) * cols + i]) << t << ", " << i;
    }
}

std::vector<Case> all_cases() {
    std::vector<Case> out;
    for (const TensorType type : quant::testing::all_types()) {
        out.push_back({type, Digits::two_i16});
        out.push_back({type, Digits::three_i8});
        if (form_of(type) == Form::q4_k || form_of(type) == Form::q5_0) out.push_back({type, Digits::one_i8});
    }
    return out;
}
INSTANTIATE_TEST_SUITE_P(All, Products, ::testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace lapidary::cpu
