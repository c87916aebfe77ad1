// Rows of a file → groups of eight rows, as formats.h describes them.
#include "cpu/kernels/formats.h"
#include "cpu/kernels/kernels.h"

namespace lapidary::cpu {
namespace {

constexpr uint32_t kLow = 0x0F0F0F0Fu;
constexpr uint32_t kFlip = 0x80808080u;

uint32_t word(const uint8_t* at) {
    return load<uint32_t>(at);
}

// One row of a group: where its lane is, and the group's bytes.
struct Lane {
    uint8_t* to;
    uint32_t row;  // of eight

    // A word of the row in a pair of vectors, one for each half of the rows.
    void put(size_t at, uint32_t value) const { store(to + at + row / 4 * 16 + row % 4 * 4, value); }
    void put_at(size_t at, uint32_t value, size_t halves_apart) const {
        store(to + at + row / 4 * halves_apart + row % 4 * 4, value);
    }
    void scale(size_t at, float value) const { store(to + at + 4 * row, value); }
    void byte(size_t at, uint8_t value) const { to[at + row] = value; }
};

// The nibbles of Q4_K and Q5_K, their scales and minima, from `scales` on, d and dmin.
void pack_k(const uint8_t* in, const uint8_t* qs, size_t scales, const Lane& lane) {
    for (size_t j = 0; j < 8; ++j) {
        const uint8_t* from = qs + 32 * (j / 2);
        const uint32_t shift = uint32_t(j % 2) * 4;
        for (size_t i = 0; i < 4; ++i) {
            lane.put(128 * j + 32 * i, (word(from + 8 * i) >> shift & kLow) | (word(from + 8 * i + 4) >> shift & kLow)
                                                                                  << 4);
        }
        const uint8_t* packed = in + 4;
        const bool low = j < 4;
        lane.byte(scales + 8 * j, uint8_t(low ? packed[j] & 63 : (packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4));
        lane.byte(scales + 64 + 8 * j, uint8_t(low ? packed[j + 4] & 63 : packed[j + 4] >> 4 | (packed[j] >> 6) << 4));
    }
    lane.scale(scales + 128, half_to_float(load<uint16_t>(in)));
    lane.scale(scales + 160, half_to_float(load<uint16_t>(in + 2)));
}

void pack_q4_k(const uint8_t* in, const Lane& lane) {
    pack_k(in, in + 16, 1024, lane);
}

void pack_q5_k(const uint8_t* in, const Lane& lane) {
    pack_k(in, in + 48, 1280, lane);
    for (size_t j = 0; j < 8; ++j) {
        uint32_t fifth = 0;
        for (size_t i = 0; i < 8; ++i) fifth |= (word(in + 16 + 4 * i) >> j & 0x01010101u) << i;
        lane.put(1024 + 32 * j, fifth);
    }
}

void pack_q6_k(const uint8_t* in, const Lane& lane) {
    for (size_t j = 0; j < 16; ++j) {
        const size_t half = j / 8;
        const size_t run = j % 8 / 2;  // of 32 elements
        const uint8_t* ql = in + 64 * half + 32 * (run % 2) + 16 * (j % 2);
        const uint8_t* qh = in + 128 + 32 * half + 16 * (j % 2);
        uint32_t low[4];
        uint32_t top = 0;
        for (uint32_t i = 0; i < 4; ++i) {
            low[i] = word(ql + 4 * i) >> (run / 2 * 4) & kLow;
            top |= (word(qh + 4 * i) >> (2 * run) & 0x03030303u) << (2 * i);
        }
        lane.put_at(96 * j, low[0] | low[1] << 4, 48);
        lane.put_at(96 * j + 16, low[2] | low[3] << 4, 48);
        lane.put_at(96 * j + 32, top, 48);
        lane.byte(1536 + 8 * j, in[192 + j]);
    }
    lane.scale(1664, half_to_float(load<uint16_t>(in + 208)));
}

void pack_q4_0(const uint8_t* in, const Lane& lane) {
    for (size_t i = 0; i < 4; ++i) {
        const uint8_t* qs = in + 2 + 8 * (i % 2);
        const uint32_t shift = i < 2 ? 0 : 4;
        lane.put(32 * i, (word(qs) >> shift & kLow) | (word(qs + 4) >> shift & kLow) << 4);
    }
    lane.scale(128, half_to_float(load<uint16_t>(in)));
}

void pack_q5_0(const uint8_t* in, const Lane& lane) {
    uint32_t fifth = 0;
    for (size_t i = 0; i < 32; ++i) fifth |= (word(in + 2) >> i & 1u) << (i % 4 * 8 + i / 4);
    for (size_t i = 0; i < 4; ++i) {
        const uint8_t* qs = in + 6 + 8 * (i % 2);
        const uint32_t shift = i < 2 ? 0 : 4;
        lane.put(32 * i, (word(qs) >> shift & kLow) | (word(qs + 4) >> shift & kLow) << 4);
    }
    lane.put(128, fifth);
    lane.scale(160, half_to_float(load<uint16_t>(in)));
}

void pack_q8_0(const uint8_t* in, const Lane& lane) {
    for (size_t i = 0; i < 8; ++i) lane.put(32 * i, word(in + 2 + 4 * i) ^ kFlip);
    lane.scale(256, half_to_float(load<uint16_t>(in)));
}

// From the engine's 8-bit format: quants of all columns in units of 64, then of each unit four scales and four minima to take off.
void pack_bytes(const uint8_t* row, uint32_t cols, uint32_t strip, const Lane& lane) {
    const uint8_t* words = row + (cols + 63) / 64 * 64 + size_t(strip / 4) * 32 + strip % 4 * 4;
    for (size_t i = 0; i < 4; ++i) lane.put(32 * i, word(row + 16 * size_t(strip) + 4 * i) ^ kFlip);
    lane.scale(128, load<float>(words));
    lane.scale(160, -load<float>(words + 16));
}

constexpr uint32_t file_bytes(Form form) {
    switch (form) {
        case Form::q4_k: return 144;
        case Form::q5_k: return 176;
        case Form::q6_k: return 210;
        case Form::q4_0: return 18;
        case Form::q5_0: return 22;
        default: return 34;
    }
}

}  // namespace

// Item: a group of eight rows.
void pack(const Memory& memory, const PackOp& op, Part part) {
    const Strip strip = strip_of(op.w.form);
    const auto bytes = size_t(group_bytes(op.w.form, op.w.cols));
    for (uint32_t group = part.first; group < part.end; ++group) {
        uint8_t* to = memory.at<uint8_t>(op.w.at) + (op.first / 8 + group) * bytes;
        if (op.count - 8 * group < 8) {
            for (size_t i = 0; i < bytes; ++i) to[i] = 0;  // rows that are not there
        }
        for (uint32_t row = 0; row < 8 && 8 * group + row < op.count; ++row) {
            const uint8_t* from = memory.at<const uint8_t>(op.from) + size_t(8 * group + row) * op.row_bytes;
            for (uint32_t s = 0; s < op.w.cols / strip.cols; ++s) {
                const Lane lane{to + size_t(s) * strip.bytes, row};
                const uint8_t* in = from + size_t(s) * file_bytes(op.w.form);
                switch (op.w.form) {
                    case Form::q4_k: pack_q4_k(in, lane); break;
                    case Form::q5_k: pack_q5_k(in, lane); break;
                    case Form::q6_k: pack_q6_k(in, lane); break;
                    case Form::q4_0: pack_q4_0(in, lane); break;
                    case Form::q5_0: pack_q5_0(in, lane); break;
                    case Form::q8_0: pack_q8_0(in, lane); break;
                    case Form::i8: pack_bytes(from, op.w.cols, s, lane); break;
                    default: break;
                }
            }
        }
    }
}

}  // namespace lapidary::cpu
