// Matrices against activations: as digits where weights are quantised, as floats where they are floats.
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/product.h"

namespace lapidary::cpu {
namespace {

// Four weights of a row of floats.
template <Form kForm>
[[gnu::always_inline]] inline F4 four_at(const uint8_t* row, uint32_t i) {
    if constexpr (kForm == Form::f32) return load<F4>(row + 4 * size_t(i));
    const U4 halves = four_halves(row + 2 * size_t(i));
    return kForm == Form::bf16 ? F4(halves << 16) : halves_to_float(halves);
}

float weight_at(Form form, const uint8_t* row, uint32_t i) {
    if (form == Form::f32) return load<float>(row + 4 * size_t(i));
    const auto bits = load<uint16_t>(row + 2 * size_t(i));
    return form == Form::bf16 ? __builtin_bit_cast(float, uint32_t(bits) << 16) : half_to_float(bits);
}

// A row of floats in pieces, so that what is decoded stays in the nearest memory.
constexpr uint32_t kPiece = 1024;

template <Form kForm>
void decode_floats(const uint8_t* row, uint32_t first, uint32_t count, float* out) {
    uint32_t i = 0;
    for (; i + 4 <= count; i += 4) store(out + i, four_at<kForm>(row, first + i));
    for (; i < count; ++i) out[i] = weight_at(kForm, row, first + i);
}

// Rows [first, end) of floats.
template <Form kForm>
void multiply_floats(const Memory& memory, const ProductOp& op, uint32_t first, uint32_t end, uint32_t count) {
    const auto bytes = size_t(float_bytes(kForm)) * op.w.cols;
    for (uint32_t row = first; row < end; ++row) {
        const uint8_t* w = memory.at<const uint8_t>(op.w.at) + row * bytes;
        float sums[kMaxRows];
        for (uint32_t col = 0; col < op.w.cols || col == 0; col += kPiece) {
            const uint32_t n = op.w.cols - col < kPiece ? op.w.cols - col : kPiece;
            float part[kMaxRows];
            const auto x = [&](uint32_t t) { return memory.row(op.x, t) + col; };
            if (count == 1) {
                const auto four = [&] [[gnu::always_inline]] (uint32_t i) { return four_at<kForm>(w, col + i); };
                const float* const only = x(0);
                dots_of<1>(four, [&](uint32_t i) { return weight_at(kForm, w, col + i); }, &only, n, part);
            } else {
                float decoded[kPiece];
                decode_floats<kForm>(w, col, n, decoded);
                dots(decoded, n, count, x, part);
            }
            for (uint32_t t = 0; t < count; ++t) sums[t] = col == 0 ? part[t] : sums[t] + part[t];
        }
        for (uint32_t t = 0; t < count; ++t) {
            float& y = memory.row(op.y, t)[row];
            y = op.adds != 0 ? y + op.scale * sums[t] : sums[t];
        }
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
        const uint32_t first = 8 * part.first;
        const uint32_t end = 8 * part.end < op.w.rows ? 8 * part.end : op.w.rows;
        switch (op.w.form) {
            case Form::f32: return multiply_floats<Form::f32>(memory, op, first, end, step.count);
            case Form::f16: return multiply_floats<Form::f16>(memory, op, first, end, step.count);
            default: return multiply_floats<Form::bf16>(memory, op, first, end, step.count);
        }
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
            F4 scales = F::scale(block, j, int(half));
            F4 mins{};
            if constexpr (F::kHasMin) mins = F::min(block, j, int(half));
            if constexpr (F::kHasUnits) scales *= F::unit(block, int(half));
            if constexpr (F::kHasUnits && F::kHasMin) mins *= F::min_unit(block, int(half));
            F::each_quad(block, j, [&](int i, B16 a, B16 b) {
                const B16 quad = half == 0 ? a : b;
                uint8_t bytes[16];
                store(bytes, quad);
                for (uint32_t k = 0; k < 4; ++k) {
                    const float w_k = scales[lane] * float(int(bytes[4 * lane + k]) - F::kOffset);
                    y[col + 4 * uint32_t(i) + k] = (F::kHasMin ? w_k + mins[lane] : w_k) * scale;
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
