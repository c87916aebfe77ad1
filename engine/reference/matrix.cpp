#include "reference/matrix.h"

#include "quant/decode.h"

namespace lapidary::reference {

void Matrix::decode_row(uint64_t row, std::span<float> out) const {
    quant::decode(type, data + row * row_bytes(type, cols), out.first(size_t(cols)));
}

Matrix Matrix::slice(uint64_t first, uint64_t count) const {
    return {.type = type, .cols = cols, .rows = count, .data = data + first * row_bytes(type, cols)};
}

std::vector<float> Matrix::decode() const {
    std::vector<float> out(size_t(rows * cols));
    for (uint64_t row = 0; row < rows; ++row) decode_row(row, std::span(out).subspan(size_t(row * cols)));
    return out;
}

}  // namespace lapidary::reference
