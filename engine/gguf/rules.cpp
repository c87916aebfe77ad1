#include "gguf/rules.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/checked.h"

namespace lapidary::gguf {

Result<uint64_t> alignment_from(const Value* value) {
    if (value == nullptr) return kDefaultAlignment;
    if (value->type() != ValueType::uint32) {
        return fail(Code::bad_file, "{} is a {}; it must be a uint32", kAlignmentKey, value_type_name(value->type()));
    }
    const auto alignment = uint64_t(*value->as_integer());
    if (!std::has_single_bit(alignment)) {
        return fail(Code::bad_file, "{} is {}; it must be a power of two", kAlignmentKey, alignment);
    }
    return alignment;
}

Result<uint64_t> tensor_bytes(std::string_view name, const TensorTypeInfo& type, std::span<const uint64_t> dims) {
    if (dims.size() > kMaxDims) {
        return fail(Code::bad_file, "tensor '{}' has {} dimensions; at most {} are allowed", printable(name),
                    dims.size(), kMaxDims);
    }
    int64_t product = 1;  // of the dimensions that are not zero
    bool empty = false;
    for (const uint64_t dim : dims) {
        if (dim > uint64_t(std::numeric_limits<int64_t>::max())) {
            return fail(Code::bad_file, "tensor '{}' has a negative dimension ({})", printable(name), int64_t(dim));
        }
        const auto next = checked_mul(product, std::max<int64_t>(1, int64_t(dim)));
        if (!next) {
            return fail(Code::bad_file, "tensor '{}' has more elements than can be counted", printable(name));
        }
        product = *next;
        empty = empty || dim == 0;
    }
    const uint64_t row = dims.empty() ? 1 : dims[0];
    if (row % type.block_elements != 0) {
        return fail(Code::bad_file, "tensor '{}' has rows of {} elements, not a multiple of {}'s block of {}",
                    printable(name), row, type.name, type.block_elements);
    }
    if (empty) return 0;
    const auto bytes = checked_mul<uint64_t>(uint64_t(product) / type.block_elements, type.block_bytes);
    if (!bytes) return fail(Code::bad_file, "tensor '{}' has more bytes than can be counted", printable(name));
    return *bytes;
}

}  // namespace lapidary::gguf
