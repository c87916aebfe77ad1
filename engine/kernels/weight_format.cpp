#include "kernels/weight_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/half.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {
namespace {

constexpr uint64_t kUnit = 64;    // weights
constexpr uint64_t kBlock = 256;  // weights, four units

// What a format keeps for each unit and each four of them; the numbers of weights/*.wgsl.
struct Shape {
    size_t quant_bytes;
    size_t scale_words;
    size_t block_words;
};

constexpr Shape shape_of(Format format) {
    switch (format) {
        case Format::q4_k: return {32, 1, 1};
        case Format::q5_k: return {32, 3, 1};
        case Format::q6_k: return {48, 1, 1};
        case Format::q4_0: return {32, 1, 0};
        case Format::q8_0: return {64, 1, 0};
        case Format::i8: return {64, 8, 0};
        case Format::f16:
        case Format::bf16: return {128, 0, 0};
        case Format::f32: return {256, 0, 0};
    }
    return {};
}

uint64_t units_of(uint64_t cols) {
    return (cols + kUnit - 1) / kUnit;
}

// One row on the GPU, being filled.
struct Row {
    uint8_t* quants;
    uint8_t* words;  // behind the quants: scales of all units, then of all blocks
    Shape shape;
    uint64_t units;

    [[nodiscard]] uint8_t* unit(uint64_t u) const { return quants + u * shape.quant_bytes; }
    void scale(uint64_t u, size_t i, uint32_t word) const {
        std::memcpy(words + 4 * (u * shape.scale_words + i), &word, 4);
    }
    void block(uint64_t b, uint32_t word) const { std::memcpy(words + 4 * (units * shape.scale_words + b), &word, 4); }
};

uint16_t half_at(const uint8_t* bytes) {
    uint16_t half = 0;
    std::memcpy(&half, bytes, 2);
    return half;
}

uint32_t word_at(const uint8_t* bytes) {
    uint32_t word = 0;
    std::memcpy(&word, bytes, 4);
    return word;
}

void put_word(uint8_t* bytes, uint32_t word) {
    std::memcpy(bytes, &word, 4);
}

// Scales and mins of sub-blocks 2 k and 2 k + 1 of a Q4_K or Q5_K block, a byte each.
uint32_t scales_and_mins(const uint8_t* packed, size_t k) {
    std::array<uint8_t, 4> out{};
    for (size_t i = 0; i < 2; ++i) {
        const size_t j = 2 * k + i;
        if (j < 4) {
            out[i] = packed[j] & 63;
            out[2 + i] = packed[4 + j] & 63;
        } else {
            out[i] = uint8_t((packed[4 + j] & 15) | (packed[j - 4] >> 6) << 4);
            out[2 + i] = uint8_t((packed[4 + j] >> 4) | (packed[j] >> 6) << 4);
        }
    }
    return word_at(out.data());
}

void pack_q4_k(const uint8_t* block, uint64_t b, const Row& row) {
    std::memcpy(row.unit(4 * b), block + 16, 128);
    for (size_t k = 0; k < 4; ++k) row.scale(4 * b + k, 0, scales_and_mins(block + 4, k));
    row.block(b, word_at(block));
}

void pack_q5_k(const uint8_t* block, uint64_t b, const Row& row) {
    std::memcpy(row.unit(4 * b), block + 48, 128);
    for (size_t k = 0; k < 4; ++k) {
        row.scale(4 * b + k, 0, scales_and_mins(block + 4, k));
        for (size_t half = 0; half < 2; ++half) {
            uint32_t bits = 0;
            for (size_t i = 0; i < 8; ++i) {
                bits |= (word_at(block + 16 + 4 * i) >> (2 * k + half) & 0x01010101u) << i;
            }
            row.scale(4 * b + k, 1 + half, bits);
        }
    }
    row.block(b, word_at(block));
}

void pack_q6_k(const uint8_t* block, uint64_t b, const Row& row) {
    constexpr uint32_t kLow = 0x0F0F0F0Fu;
    constexpr uint32_t kPair = 0x03030303u;
    for (size_t k = 0; k < 4; ++k) {
        const uint8_t* ql = block + k / 2 * 64;        // of 128 elements
        const uint8_t* qh = block + 128 + k / 2 * 32;  // two bits each: elements l, l + 32, l + 64, l + 96
        uint8_t* out = row.unit(4 * b + k);
        const size_t nibble = k % 2 * 4;
        const size_t pair = k % 2 * 4;
        for (size_t i = 0; i < 16; i += 4) {
            const auto low = [&](size_t at) { return word_at(ql + at + i) >> nibble & kLow; };
            const auto high = [&](size_t at, size_t shift) { return word_at(qh + at + i) >> (pair + shift) & kPair; };
            put_word(out + i, low(0) | low(32) << 4);
            put_word(out + 16 + i, low(16) | low(48) << 4);
            put_word(out + 32 + i, high(0, 0) | high(16, 0) << 2 | high(0, 2) << 4 | high(16, 2) << 6);
        }
        row.scale(4 * b + k, 0, word_at(block + 192 + 4 * k));
    }
    row.block(b, std::bit_cast<uint32_t>(f16_to_f32(half_at(block + 208))));
}

// Two blocks of 32, the second missing at the end of an odd row.
void pack_q4_0(const uint8_t* first, const uint8_t* second, uint64_t u, const Row& row) {
    constexpr uint32_t kLow = 0x0F0F0F0Fu;
    uint8_t* out = row.unit(u);
    for (size_t i = 0; i < 16; i += 4) {
        const uint32_t a = word_at(first + 2 + i);
        const uint32_t b = second != nullptr ? word_at(second + 2 + i) : 0;
        put_word(out + i, (a & kLow) | (b & kLow) << 4);
        put_word(out + 16 + i, (a >> 4 & kLow) | (b & ~kLow));
    }
    row.scale(u, 0, half_at(first) | (second != nullptr ? uint32_t(half_at(second)) << 16 : 0));
}

void pack_q8_0(const uint8_t* first, const uint8_t* second, uint64_t u, const Row& row) {
    std::memcpy(row.unit(u), first + 2, 32);
    if (second != nullptr) std::memcpy(row.unit(u) + 32, second + 2, 32);
    row.scale(u, 0, half_at(first) | (second != nullptr ? uint32_t(half_at(second)) << 16 : 0));
}

// A run of 16 numbers as scale · q + min, with q in −128 … 127, taken straight from the fields of its block.
struct Run {
    float scale = 0;
    float min = 0;
    std::array<int8_t, 16> q{};
};

constexpr std::array<int8_t, 16> kIq4Levels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
constexpr std::array<int8_t, 16> kFp4Levels = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

int nibble(const uint8_t* qs, size_t half, size_t i) {
    return half == 0 ? qs[i] & 15 : qs[i] >> 4;
}

// Element runs [0, 16) and [16, 32) of a 32-element block.
Run run_of_block32(TensorType type, const uint8_t* block, size_t half) {
    Run run;
    const auto fifth = [&](const uint8_t* bits, size_t i) {
        uint32_t word = 0;
        std::memcpy(&word, bits, 4);
        return int(word >> (half * 16 + i) & 1) << 4;
    };
    switch (type) {
        case TensorType::q4_1:
            run.scale = f16_to_f32(half_at(block));
            run.min = f16_to_f32(half_at(block + 2));
            for (size_t i = 0; i < 16; ++i) run.q[i] = int8_t(nibble(block + 4, half, i));
            break;
        case TensorType::q5_0:
            run.scale = f16_to_f32(half_at(block));
            for (size_t i = 0; i < 16; ++i) run.q[i] = int8_t((nibble(block + 6, half, i) | fifth(block + 2, i)) - 16);
            break;
        case TensorType::q5_1:
            run.scale = f16_to_f32(half_at(block));
            run.min = f16_to_f32(half_at(block + 2));
            for (size_t i = 0; i < 16; ++i) run.q[i] = int8_t(nibble(block + 8, half, i) | fifth(block + 4, i));
            break;
        case TensorType::iq4_nl:
            run.scale = f16_to_f32(half_at(block));
            for (size_t i = 0; i < 16; ++i) run.q[i] = kIq4Levels[size_t(nibble(block + 2, half, i))];
            break;
        case TensorType::mxfp4: {
            const uint32_t e = block[0];
            const uint32_t bits = e >= 2 ? (e - 1) << 23 : e == 1 ? 0x00400000u : 0x00200000u;
            run.scale = std::bit_cast<float>(bits);
            for (size_t i = 0; i < 16; ++i) run.q[i] = kFp4Levels[size_t(nibble(block + 1, half, i))];
            break;
        }
        default: break;
    }
    return run;
}

// Run k (0 … 15) of a 256-element block.
Run run_of_block256(TensorType type, const uint8_t* block, size_t k) {
    Run run;
    const size_t half = k / 8;  // elements 0 … 127 or 128 … 255
    const size_t shift = 2 * (k % 8 / 2);
    const size_t first = k % 2 * 16;  // in the 32 bytes that hold these elements
    if (type == TensorType::q2_k) {
        const uint8_t* qs = block + 16 + 32 * half;
        run.scale = f16_to_f32(half_at(block + 80)) * float(block[k] & 15);
        run.min = -(f16_to_f32(half_at(block + 82)) * float(block[k] >> 4));
        for (size_t i = 0; i < 16; ++i) run.q[i] = int8_t(qs[first + i] >> shift & 3);
    } else if (type == TensorType::q3_k) {
        const uint8_t* hmask = block;
        const uint8_t* qs = block + 32 + 32 * half;
        const uint8_t* scales = block + 96;
        const int low = k < 8 ? scales[k] & 15 : scales[k - 8] >> 4;
        const int high = scales[8 + k % 4] >> (2 * (k / 4)) & 3;
        run.scale = f16_to_f32(half_at(block + 108)) * float((low | high << 4) - 32);
        for (size_t i = 0; i < 16; ++i) {
            const int bit = hmask[first + i] >> (4 * half + k % 8 / 2) & 1;
            run.q[i] = int8_t((qs[first + i] >> shift & 3) - (bit != 0 ? 0 : 4));
        }
    } else if (type == TensorType::iq4_xs) {
        const size_t sub = k / 2;
        const int low = block[4 + sub / 2] >> (4 * (sub % 2)) & 15;
        const int high = half_at(block + 2) >> (2 * sub) & 3;
        run.scale = f16_to_f32(half_at(block)) * float((low | high << 4) - 32);
        for (size_t i = 0; i < 16; ++i) run.q[i] = kIq4Levels[size_t(nibble(block + 8 + 16 * sub, k % 2, i))];
    }
    return run;
}

void pack_i8(TensorType type, const uint8_t* in, uint64_t cols, const Row& row) {
    const TensorTypeInfo& info = tensor_type_info(type);
    for (uint64_t r = 0; r < cols / 16; ++r) {
        const uint8_t* block = in + r * 16 / info.block_elements * info.block_bytes;
        const Run run = info.block_elements == 32 ? run_of_block32(type, block, size_t(r % 2))
                                                  : run_of_block256(type, block, size_t(r % 16));
        std::memcpy(row.unit(r / 4) + 16 * (r % 4), run.q.data(), 16);
        row.scale(r / 4, size_t(r % 4), std::bit_cast<uint32_t>(run.scale));
        row.scale(r / 4, size_t(4 + r % 4), std::bit_cast<uint32_t>(-run.min));
    }
}

void pack_row(TensorType type, Format format, const uint8_t* in, uint64_t cols, const Row& row) {
    const TensorTypeInfo& info = tensor_type_info(type);
    const auto block = [&](uint64_t b) { return in + b * info.block_bytes; };
    switch (format) {
        case Format::q4_k:
            for (uint64_t b = 0; b < cols / kBlock; ++b) pack_q4_k(block(b), b, row);
            break;
        case Format::q5_k:
            for (uint64_t b = 0; b < cols / kBlock; ++b) pack_q5_k(block(b), b, row);
            break;
        case Format::q6_k:
            for (uint64_t b = 0; b < cols / kBlock; ++b) pack_q6_k(block(b), b, row);
            break;
        case Format::q4_0:
        case Format::q8_0: {
            const auto pack = format == Format::q4_0 ? pack_q4_0 : pack_q8_0;
            for (uint64_t u = 0; u < row.units; ++u) {
                pack(block(2 * u), kUnit * u + 32 < cols ? block(2 * u + 1) : nullptr, u, row);
            }
            break;
        }
        case Format::i8: pack_i8(type, in, cols, row); break;
        case Format::f16:
        case Format::bf16:
        case Format::f32: std::memcpy(row.quants, in, size_t(row_bytes(type, cols))); break;
    }
}

}  // namespace

Format format_of(TensorType type) {
    switch (type) {
        case TensorType::q4_k: return Format::q4_k;
        case TensorType::q5_k: return Format::q5_k;
        case TensorType::q6_k: return Format::q6_k;
        case TensorType::q4_0: return Format::q4_0;
        case TensorType::q8_0: return Format::q8_0;
        case TensorType::f16: return Format::f16;
        case TensorType::bf16: return Format::bf16;
        case TensorType::f32: return Format::f32;
        default: return Format::i8;
    }
}

std::string_view format_name(Format format) {
    constexpr std::array<std::string_view, 9> kNames = {"q4_k", "q5_k", "q6_k", "q4_0", "q8_0",
                                                        "i8",   "f16",  "bf16", "f32"};
    return kNames[size_t(format)];
}

bool holds_whole_numbers(Format format) {
    return format != Format::f16 && format != Format::bf16 && format != Format::f32;
}

const Module& format_module(Format format) {
    constexpr std::array<const Module*, 9> kModules = {
        &wgsl::weights_q4_k::module, &wgsl::weights_q5_k::module, &wgsl::weights_q6_k::module,
        &wgsl::weights_q4_0::module, &wgsl::weights_q8_0::module, &wgsl::weights_i8::module,
        &wgsl::weights_f16::module,  &wgsl::weights_bf16::module, &wgsl::weights_f32::module};
    return *kModules[size_t(format)];
}

Status check_columns(TensorType type, uint64_t cols) {
    const uint64_t unit = std::max<uint64_t>(32, tensor_type_info(type).block_elements);
    if (cols % unit == 0) return {};
    return fail(Code::unsupported, "the GPU backend needs rows of a multiple of {} elements for {}, not {}", unit,
                tensor_type_name(type), cols);
}

uint64_t gpu_bytes(Format format, uint64_t rows, uint64_t cols) {
    const Shape shape = shape_of(format);
    const uint64_t units = units_of(cols);
    const uint64_t words = units * shape.scale_words + (units + 3) / 4 * shape.block_words;
    return rows * (units * shape.quant_bytes + (words * 4 + 15) / 16 * 16);
}

uint64_t second_row_at(Format first, uint64_t rows, Format second, uint64_t cols) {
    const uint64_t row = gpu_bytes(second, 1, cols);
    uint64_t at = (gpu_bytes(first, rows, cols) + row - 1) / row;
    while (at * row % kBindingAlignment != 0) ++at;  // 16 times at most: a row is a multiple of 16 bytes
    return at;
}

std::vector<uint8_t> repack(TensorType type, std::span<const uint8_t> file_bytes, uint64_t rows, uint64_t cols) {
    const Format format = format_of(type);
    const Shape shape = shape_of(format);
    const uint64_t units = units_of(cols);
    const auto stride = size_t(gpu_bytes(format, 1, cols));
    std::vector<uint8_t> out(stride * size_t(rows));
    for (uint64_t r = 0; r < rows; ++r) {
        uint8_t* quants = out.data() + r * stride;
        pack_row(type, format, file_bytes.data() + r * row_bytes(type, cols), cols,
                 {quants, quants + units * shape.quant_bytes, shape, units});
    }
    return out;
}

}  // namespace lapidary::kernels
