// Matrices against activations: as digits where weights are quantised, as floats where they are floats.
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/product.h"

namespace lapidary::cpu {
namespace {

// Four weights of a row of floats.
template <Form kForm>
[[gnu::always_inline]] inline F4 four_at(const uint8_t* row, uint32_t i) {
    if constexpr (kForm == Form::f32) return load<F4>(row + 4 * size_t(i));
    uint16_t w[4];
    __builtin_memcpy(w, row + 2 * size_t(i), 8);
    if constexpr (kForm == Form::bf16) {
        return F4(U4{uint32_t(w[0]) << 16, uint32_t(w[1]) << 16, uint32_t(w[2]) << 16, uint32_t(w[3]) << 16});
    }
    return F4{half_to_float(w[0]), half_to_float(w[1]), half_to_float(w[2]), half_to_float(w[3])};
}

float weight_at(Form form, const uint8_t* row, uint32_t i) {
    if (form == Form::f32) return load<float>(row + 4 * size_t(i));
    const auto bits = load<uint16_t>(row + 2 * size_t(i));
    return form == Form::bf16 ? __builtin_bit_cast(float, uint32_t(bits) << 16) : half_to_float(bits);
}

// A row of floats in pieces, so that what is decoded stays in the nearest memory.
constexpr uint32_t kPiece = 1024;

void decode_floats(Form form, const uint8_t* row, uint32_t first, uint32_t count, float* out) {
    uint32_t i = 0;
    for (; i + 4 <= count; i += 4) {
        store(out + i, form == Form::f32    ? four_at<Form::f32>(row, first + i)
                       : form == Form::bf16 ? four_at<Form::bf16>(row, first + i)
                                            : four_at<Form::f16>(row, first + i));
    }
    for (; i < count; ++i) out[i] = weight_at(form, row, first + i);
}

// Rows [8 g, 8 g + 8) of floats.
void multiply_floats(const Memory& memory, const ProductOp& op, uint32_t row, uint32_t count) {
    const auto bytes = uint32_t(float_bytes(op.w.form)) * op.w.cols;
    const uint8_t* w = memory.at<const uint8_t>(op.w.at) + size_t(row) * bytes;
    float sums[kMaxRows] = {};
    for (uint32_t first = 0; first < op.w.cols; first += kPiece) {
        const uint32_t n = op.w.cols - first < kPiece ? op.w.cols - first : kPiece;
        float decoded[kPiece];
        decode_floats(op.w.form, w, first, n, decoded);
        for (uint32_t t = 0; t < count; ++t) sums[t] += dot_floats(decoded, memory.row(op.x, t) + first, n);
    }
    for (uint32_t t = 0; t < count; ++t) {
        float& y = memory.row(op.y, t)[row];
        y = op.adds != 0 ? y + op.scale * sums[t] : sums[t];
    }
}

void put_group(const Pair& from, uint32_t row, uint32_t rows, float* y, const ProductOp& op) {
    float out[8];
    store(out, from.a);
    store(out + 4, from.b);
    for (uint32_t i = 0; i < 8 && row + i < rows; ++i) {
        y[row + i] = op.adds != 0 ? y[row + i] + op.scale * out[i] : out[i];
    }
}

}  // namespace

void product(const Memory& memory, const ProductOp& op, const Step& step, Part part) {
    if (!is_packed(op.w.form)) {
        for (uint32_t row = part.first * 8; row < part.end * 8 && row < op.w.rows; ++row) {
            multiply_floats(memory, op, row, step.count);
        }
        return;
    }
    with_format(op.w.form, [&]<class F>(F) {
        with_digits(op.digits, [&]<class D>(D) {
            if constexpr (F::kSevenBits || D::kDigits == Digits::two_i16) {
                const auto bytes = group_bytes(op.w.form, op.w.cols);
                const auto* x = memory.at<const uint8_t>(op.x.at);
                const uint32_t x_bytes = digit_row_bytes(op.digits, op.w.cols);
                for (uint32_t group = part.first; group < part.end; ++group) {
                    Pair y[kMaxRows];
                    multiply_group<F, D>(memory.at<const uint8_t>(op.w.at) + group * size_t(bytes), op.w.cols, x,
                                         x_bytes, step.count, y);
                    for (uint32_t t = 0; t < step.count; ++t)
                        put_group(y[t], group * 8, op.w.rows, memory.row(op.y, t), op);
                }
            }
        });
    });
}

// Item: a group of eight rows for all slots of all tokens.
void experts(const Memory& memory, const ExpertsOp& op, const Step& step, Part part) {
    const auto* ids = memory.at<const uint32_t>(op.ids);
    const uint32_t slots = step.count * op.used;
    ProductOp one{.w = op.w, .digits = op.digits, .adds = 0, .scale = 1, .x = op.x, .y = op.y};
    const Step single{.position = 0, .count = 1, .ids = {}};
    for (uint32_t slot = 0; slot < slots; ++slot) {
        const uint32_t from = op.x_per_slot != 0 ? slot : slot / op.used;
        one.w.at = op.w.at + ids[slot] * op.slice;
        one.x.at = op.digits == Digits::none ? op.x.at + 4 * from * op.x.stride
                                             : op.x.at + from * digit_row_bytes(op.digits, op.w.cols);
        one.y.at = op.y.at + 4 * slot * op.y.stride;
        product(memory, one, single, part);
    }
}

namespace {

// A row of a matrix as floats.
void decode_row(const Memory& memory, const Matrix& w, uint32_t row, float scale, float* y) {
    if (!is_packed(w.form)) {
        const auto* from = memory.at<const uint8_t>(w.at) + size_t(row) * w.cols * float_bytes(w.form);
        for (uint32_t i = 0; i < w.cols; ++i) y[i] = weight_at(w.form, from, i) * scale;
        return;
    }
    with_format(w.form, [&]<class F>(F) {
        constexpr Strip kStrip = strip_of(F::kForm);
        const uint8_t* group = memory.at<const uint8_t>(w.at) + size_t(row / 8) * size_t(group_bytes(w.form, w.cols));
        const uint32_t half = row % 8 / 4;
        const uint32_t lane = row % 4;
        for (uint32_t col = 0; col < w.cols; col += F::kSub) {
            const uint8_t* block = group + col / kBlock * (kBlock / kStrip.cols * kStrip.bytes);
            const int j = int(col % kBlock / F::kSub);
            const float sub_scale = F::scale(block, j, int(half))[lane];
            const float min = F::min(block, j, int(half))[lane];
            F::each_quad(block, j, [&](int i, B16 a, B16 b) {
                const B16 quad = half == 0 ? a : b;
                uint8_t bytes[16];
                store(bytes, quad);
                for (uint32_t k = 0; k < 4; ++k) {
                    const float w_k = sub_scale * float(int(bytes[4 * lane + k]) - F::kOffset);
                    y[col + 4 * uint32_t(i) + k] = (F::kHasMin ? w_k + min : w_k) * scale;
                }
            });
        }
    });
}

}  // namespace

void embed(const Memory& memory, const EmbedOp& op, const Step& step, Part part, bool own_rows) {
    for (uint32_t t = part.first; t < part.end; ++t) {
        decode_row(memory, op.table, own_rows ? t : uint32_t(step.ids[t]), op.scale, memory.row(op.y, t));
    }
}

}  // namespace lapidary::cpu
