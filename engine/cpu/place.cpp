#include "cpu/place.h"

#include <limits>

#include "cpu/packed.h"
#include "kernels/weight_format.h"

namespace lapidary::cpu {

Form form_of(TensorType type) {
    switch (type) {
        case TensorType::q4_k: return Form::q4_k;
        case TensorType::q5_k: return Form::q5_k;
        case TensorType::q6_k: return Form::q6_k;
        case TensorType::q4_0: return Form::q4_0;
        case TensorType::q5_0: return Form::q5_0;
        case TensorType::q8_0: return Form::q8_0;
        case TensorType::f32: return Form::f32;
        case TensorType::f16: return Form::f16;
        case TensorType::bf16: return Form::bf16;
        default: return Form::i8;
    }
}

Digits digits_for(Form form, Digits digits) {
    if (!is_packed(form)) return Digits::none;
    return form == Form::q8_0 || form == Form::i8 ? Digits::two_i16 : digits;
}

Result<Matrix> new_matrix(Blocks& blocks, TensorType type, uint64_t rows, uint64_t cols) {
    const Form form = form_of(type);
    if (rows > std::numeric_limits<int32_t>::max() || cols > std::numeric_limits<int32_t>::max()) {
        return fail(Code::unsupported, "a matrix of {} × {} is too large for the CPU backend", rows, cols);
    }
    const Address at = TRY(blocks.take(matrix_bytes(form, rows, cols)));
    return Matrix{.form = form, .at = at, .rows = uint32_t(rows), .cols = uint32_t(cols)};
}

Status fill_matrix(Heap& heap, const Matrix& w, TensorType type, uint64_t first, uint64_t count,
                   std::span<const uint8_t> bytes) {
    Machine& machine = heap.machine();
    if (!is_packed(w.form)) {
        machine.write(Address(w.at + first * w.cols * float_bytes(w.form)), bytes);
        return {};
    }
    Blocks staging(heap);
    std::vector<uint8_t> repacked;
    if (w.form == Form::i8) {
        repacked = kernels::repack(type, bytes, count, w.cols);
        bytes = repacked;
    }
    const Address from = TRY(staging.take_for(bytes));
    const Op op{.kind = Kind::pack,
                .work = 0,
                .pack = {.w = w,
                         .from = from,
                         .row_bytes = uint32_t(bytes.size() / count),
                         .first = uint32_t(first),
                         .count = uint32_t(count)}};
    const Step step{.position = 0, .count = 1, .ids = {}};
    const Address op_at = TRY(staging.take_for(std::span(&op, 1)));
    const Address step_at = TRY(staging.take_for(std::span(&step, 1)));
    return machine.run(step_at, op_at, 1);
}

}  // namespace lapidary::cpu
