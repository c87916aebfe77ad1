#include "base/kv_format.h"

namespace lapidary {

std::string_view kv_format_name(KvFormat format) {
    switch (format) {
        case KvFormat::f32: return "f32";
        case KvFormat::f16: return "f16";
        case KvFormat::i16: return "i16";
        case KvFormat::q8: return "q8";
    }
    return "";
}

Result<KvFormat> kv_format_from(std::string_view name) {
    for (const KvFormat format : kKvFormats) {
        if (name == kv_format_name(format)) return format;
    }
    return fail(Code::invalid_argument, "keys and values cannot be kept as '{}': it must be f32, f16, i16 or q8",
                printable(name));
}

KvRow kv_row(KvFormat format, uint64_t head_dim) {
    switch (format) {
        case KvFormat::f32: return {.bytes = head_dim * 4};
        case KvFormat::f16: return {.bytes = head_dim * 2};
        case KvFormat::i16: return {.bytes = head_dim * 2, .scale_bytes = 16};
        case KvFormat::q8: return {.bytes = head_dim, .scale_bytes = (head_dim + 255) / 256 * 16};
    }
    return {};
}

uint64_t kv_granularity(KvFormat format) {
    return format == KvFormat::q8 ? 32 : 8;
}

}  // namespace lapidary
