#include "lora/collect.h"

#include <cmath>

#include "quant/decode.h"

namespace lapidary::lora {
namespace {

// Rows and columns as the mathematics has them.
uint64_t rows_of(const RawMatrix& matrix) {
    return matrix.transposed ? matrix.cols : matrix.rows;
}
uint64_t cols_of(const RawMatrix& matrix) {
    return matrix.transposed ? matrix.rows : matrix.cols;
}

// "blk.3.attn_q" has A and B of shapes that say another width, or that do not fit each other.
Status check_shapes(const std::string& label, const RawMatrix& a, const RawMatrix& b, UpdateShape shape) {
    if (cols_of(a) != shape.in) {
        return fail(Code::bad_shape,
                    "tensor '{}' has {} columns; '{}' of the model takes {}: is the adapter for another model?",
                    printable(a.name), cols_of(a), label, shape.in);
    }
    if (rows_of(b) != shape.out) {
        return fail(Code::bad_shape,
                    "tensor '{}' has {} rows; '{}' of the model gives {}: is the adapter for another model?",
                    printable(b.name), rows_of(b), label, shape.out);
    }
    if (rows_of(a) != cols_of(b)) {
        return fail(Code::bad_shape, "'{}' has rank {} and '{}' has rank {}", printable(a.name), rows_of(a),
                    printable(b.name), cols_of(b));
    }
    if (rows_of(a) == 0 || rows_of(a) > kMaxRank) {
        return fail(Code::limit, "tensor '{}' has rank {}; 1 to {} are possible", printable(a.name), rows_of(a),
                    kMaxRank);
    }
    return {};
}

Result<std::vector<float>> decoded(const RawMatrix& matrix) {
    std::vector<float> values(size_t(matrix.rows * matrix.cols));
    TRY(quant::decode_checked(matrix.type, matrix.bytes, values));
    for (const float value : values) {
        if (!std::isfinite(value)) {
            return fail(Code::bad_file,
                        "tensor '{}' has a value that is not a number, or infinite: the training went wrong",
                        printable(matrix.name));
        }
    }
    if (!matrix.transposed) return values;
    std::vector<float> turned(values.size());
    const auto rows = size_t(matrix.rows);
    const auto cols = size_t(matrix.cols);
    for (size_t r = 0; r < rows; ++r) {
        for (size_t c = 0; c < cols; ++c) turned[c * rows + r] = values[r * cols + c];
    }
    return turned;
}

}  // namespace

Result<RawMatrix> matrix_of(const SafeTensor& tensor) {
    if (tensor.shape.size() != 2) return fail(Code::bad_shape, "tensor '{}' is no matrix", printable(tensor.name));
    if (tensor.dtype == Dtype::i32) {
        return fail(Code::bad_file, "tensor '{}' has whole numbers where floats belong", printable(tensor.name));
    }
    return RawMatrix{.name = tensor.name,
                     .type = tensor_type(tensor.dtype),
                     .rows = tensor.shape[0],
                     .cols = tensor.shape[1],
                     .bytes = tensor.bytes};
}

Status Collector::add(uint32_t layer, Target target, Side side, RawMatrix matrix) {
    Pair& pair = pairs_[{in_layer(target) ? layer : 0, target}];
    auto& place = side == Side::a ? pair.a : pair.b;
    if (place) {
        return fail(Code::bad_file, "tensors '{}' and '{}' are for the same matrix", printable(place->name),
                    printable(matrix.name));
    }
    place = std::move(matrix);
    return {};
}

Result<std::vector<Update>> Collector::finish(const model::WeightTable& table, const ScaleOf& scale_of,
                                              std::vector<std::string>& ignored) {
    // Everything is checked before anything is decoded.
    std::vector<Update> out;
    std::vector<const Pair*> pairs;
    uint64_t parameters = 0;
    for (const auto& [where, pair] : pairs_) {
        const auto [layer, target] = where;
        const std::string label = label_of(layer, target);
        if (!pair.a || !pair.b) {
            return fail(Code::missing_tensor, "tensor '{}' has no partner: the adapter has {} of '{}' but not {}",
                        printable((pair.a ? pair.a : pair.b)->name), pair.a ? "A" : "B", label, pair.a ? "B" : "A");
        }
        if (in_layer(target) && layer >= table.layers.size()) {
            return fail(Code::bad_shape, "tensor '{}' is for layer {}; the model has {} layers",
                        printable(pair.a->name), layer, table.layers.size());
        }
        const auto shape = shape_of(table, layer, target);
        if (!shape) {
            const bool key_or_value = target == Target::k || target == Target::v;
            if (key_or_value && !table.layers[layer].attn_k.present()) {
                ignored.push_back(pair.a->name);
                ignored.push_back(pair.b->name);
                continue;
            }
            return fail(Code::bad_shape, "tensor '{}' is for '{}', which the model has not", printable(pair.a->name),
                        label);
        }
        TRY(check_shapes(label, *pair.a, *pair.b, *shape));
        const auto rank = uint32_t(rows_of(*pair.a));
        // Widths are below 2³² and ranks below 2⁹: no overflow.
        parameters += uint64_t(rank) * (uint64_t(shape->in) + shape->out);
        if (parameters > kMaxParameters) {
            return fail(Code::limit, "the adapter has more than {} values", kMaxParameters);
        }
        const float scale = TRY(scale_of(layer, target, rank, pair.a->name));
        if (!std::isfinite(scale)) return fail(Code::bad_file, "the scale of '{}' is not a number", label);
        out.push_back(
            {.layer = layer, .target = target, .rank = rank, .in = shape->in, .out = shape->out, .scale = scale});
        pairs.push_back(&pair);
    }
    if (out.empty()) return fail(Code::bad_file, "the adapter changes nothing: it has no pair of A and B");
    for (size_t i = 0; i < out.size(); ++i) {
        out[i].a = TRY(decoded(*pairs[i]->a));
        out[i].b = TRY(decoded(*pairs[i]->b));
    }
    return out;
}

}  // namespace lapidary::lora
