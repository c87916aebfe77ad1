// In what form a GPU keeps keys and values. A row is what one head has of one token.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lapidary {

enum class KvFormat : uint8_t {
    f32,
    f16,
    i16,  // 16-bit whole numbers times one scale a row: as small as f16, several times as exact
    q8,   // bytes with a scale for every 32 elements
};

inline constexpr std::array kKvFormats = {KvFormat::f32, KvFormat::f16, KvFormat::i16, KvFormat::q8};
inline constexpr KvFormat kDefaultKvFormat = KvFormat::i16;

std::string_view kv_format_name(KvFormat format);
// An error that names those there are.
Result<KvFormat> kv_format_from(std::string_view name);

// A row's numbers and its scales, which lie apart; both in multiples of 16 bytes, as kernels/kv/*.wgsl have them.
struct KvRow {
    uint64_t bytes = 0;
    uint64_t scale_bytes = 0;
};
KvRow kv_row(KvFormat format, uint64_t head_dim);

// The head sizes the format can hold are the multiples of this.
uint64_t kv_granularity(KvFormat format);

}  // namespace lapidary
