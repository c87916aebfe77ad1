#include "kernels/weight_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/half.h"
#include "kernels/wgsl_sources.h"

namespace lapidary::kernels {
namespace {

constexpr uint64_t kChunk = 32;

// Blocks of `source_bytes` regrouped: the `parts` of `group` blocks one after the other, then the group's tails.
struct Part {
    size_t offset;
    size_t size;
};
struct Regroup {
    size_t source_bytes;
    size_t group;              // blocks
    std::array<Part, 3> body;  // copied per block, in this order
    Part tail;                 // collected at the end of the group; f16, widened to f32 when `widen`
    bool widen;

    [[nodiscard]] size_t body_bytes() const {
        return std::accumulate(body.begin(), body.end(), size_t{0},
                               [](size_t sum, const Part& p) { return sum + p.size; });
    }
    [[nodiscard]] size_t group_bytes() const { return group * body_bytes() + 16; }
};

constexpr Regroup kQ6K = {
    .source_bytes = 210, .group = 4, .body = {{{0, 128}, {128, 64}, {192, 16}}}, .tail = {208, 2}, .widen = true};
constexpr Regroup kQ40 = {
    .source_bytes = 18, .group = 8, .body = {{{2, 16}, {0, 0}, {0, 0}}}, .tail = {0, 2}, .widen = false};
constexpr Regroup kQ80 = {
    .source_bytes = 34, .group = 8, .body = {{{2, 32}, {0, 0}, {0, 0}}}, .tail = {0, 2}, .widen = false};

const Regroup* regroup_of(Format format) {
    switch (format) {
        case Format::q6_k: return &kQ6K;
        case Format::q4_0: return &kQ40;
        case Format::q8_0: return &kQ80;
        default: return nullptr;
    }
}

uint64_t block_elements(Format format) {
    return format == Format::q6_k ? 256 : 32;
}

void regroup(const Regroup& shape, std::span<const uint8_t> in, uint64_t blocks, uint8_t* out) {
    const size_t body = shape.body_bytes();
    for (uint64_t b = 0; b < blocks; ++b) {
        const uint8_t* block = in.data() + b * shape.source_bytes;
        uint8_t* group = out + b / shape.group * shape.group_bytes();
        uint8_t* to = group + b % shape.group * body;
        for (const Part& part : shape.body) {
            std::memcpy(to, block + part.offset, part.size);
            to += part.size;
        }
        uint8_t* tails = group + shape.group * body;
        if (shape.widen) {
            uint16_t half = 0;
            std::memcpy(&half, block + shape.tail.offset, 2);
            const float wide = f16_to_f32(half);
            std::memcpy(tails + b % shape.group * 4, &wide, 4);
        } else {
            std::memcpy(tails + b % shape.group * 2, block + shape.tail.offset, 2);
        }
    }
}

// A run of 16 numbers as scale · q + min, with q in −128 … 127, taken straight from the fields of its block.
struct Run {
    float scale = 0;
    float min = 0;
    std::array<int8_t, 16> q{};
};

uint16_t half_at(const uint8_t* bytes) {
    uint16_t half = 0;
    std::memcpy(&half, bytes, 2);
    return half;
}

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

void widen_to_i8(TensorType type, std::span<const uint8_t> in, uint64_t elements, uint8_t* out) {
    const TensorTypeInfo& info = tensor_type_info(type);
    for (uint64_t c = 0; c < elements / kChunk; ++c) {
        uint8_t* chunk = out + c * 48;
        for (size_t h = 0; h < 2; ++h) {
            const uint8_t* block = in.data() + c * kChunk / info.block_elements * info.block_bytes;
            const Run run = info.block_elements == 32 ? run_of_block32(type, block, h)
                                                      : run_of_block256(type, block, size_t(c % 8 * 2 + h));
            std::memcpy(chunk + 16 * h, run.q.data(), 16);
            std::memcpy(chunk + 32 + 8 * h, &run.scale, 4);
            std::memcpy(chunk + 36 + 8 * h, &run.min, 4);
        }
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

std::string_view format_source(Format format) {
    constexpr std::array<std::string_view, 9> kSources = {wgsl::formats_q4_k, wgsl::formats_q5_k, wgsl::formats_q6_k,
                                                          wgsl::formats_q4_0, wgsl::formats_q8_0, wgsl::formats_i8,
                                                          wgsl::formats_f16,  wgsl::formats_bf16, wgsl::formats_f32};
    return kSources[size_t(format)];
}

Status check_columns(TensorType type, uint64_t cols) {
    const uint64_t unit = std::max<uint64_t>(kChunk, tensor_type_info(type).block_elements);
    if (cols % unit == 0) return {};
    return fail(Code::unsupported, "the GPU backend needs rows of a multiple of {} elements for {}, not {}", unit,
                tensor_type_name(type), cols);
}

uint64_t gpu_bytes(Format format, uint64_t rows, uint64_t cols) {
    const uint64_t elements = rows * cols;
    if (const Regroup* shape = regroup_of(format)) {
        const uint64_t blocks = elements / block_elements(format);
        return (blocks + shape->group - 1) / shape->group * shape->group_bytes();
    }
    switch (format) {
        case Format::q4_k: return elements / 256 * 144;
        case Format::q5_k: return elements / 256 * 176;
        case Format::i8: return elements / kChunk * 48;
        case Format::f16:
        case Format::bf16: return elements * 2;
        default: return elements * 4;
    }
}

uint64_t row_alignment(Format format, uint64_t cols) {
    const Regroup* shape = regroup_of(format);
    if (shape == nullptr) return 1;
    const uint64_t blocks = cols / block_elements(format);  // of a row
    return shape->group / std::gcd(uint64_t{shape->group}, blocks);
}

std::vector<uint8_t> repack(TensorType type, std::span<const uint8_t> file_bytes, uint64_t rows, uint64_t cols) {
    const Format format = format_of(type);
    std::vector<uint8_t> out(size_t(gpu_bytes(format, rows, cols)));
    if (const Regroup* shape = regroup_of(format)) {
        regroup(*shape, file_bytes, rows * cols / block_elements(format), out.data());
    } else if (format == Format::i8) {
        widen_to_i8(type, file_bytes, rows * cols, out.data());
    } else {
        std::memcpy(out.data(), file_bytes.data(), std::min(out.size(), file_bytes.size()));
    }
    return out;
}

}  // namespace lapidary::kernels
