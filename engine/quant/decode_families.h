// The decoders behind decode(), one source file a family. Each reads whole blocks until `out` is full.
#pragma once

#include <cstdint>
#include <span>

namespace lapidary::quant {

// decode_plain.cpp: one number after the other
void decode_f32(const uint8_t* in, std::span<float> out);
void decode_f16(const uint8_t* in, std::span<float> out);
void decode_bf16(const uint8_t* in, std::span<float> out);

// decode_block32.cpp: 32 elements share a scale
void decode_q4_0(const uint8_t* in, std::span<float> out);
void decode_q4_1(const uint8_t* in, std::span<float> out);
void decode_q5_0(const uint8_t* in, std::span<float> out);
void decode_q5_1(const uint8_t* in, std::span<float> out);
void decode_q8_0(const uint8_t* in, std::span<float> out);

// decode_k.cpp: 256 elements, whose parts have small scales of their own
void decode_q2_k(const uint8_t* in, std::span<float> out);
void decode_q3_k(const uint8_t* in, std::span<float> out);
void decode_q4_k(const uint8_t* in, std::span<float> out);
void decode_q5_k(const uint8_t* in, std::span<float> out);
void decode_q6_k(const uint8_t* in, std::span<float> out);

// decode_codebook.cpp: four bits choose one of sixteen uneven levels
void decode_iq4_nl(const uint8_t* in, std::span<float> out);
void decode_iq4_xs(const uint8_t* in, std::span<float> out);
void decode_mxfp4(const uint8_t* in, std::span<float> out);

}  // namespace lapidary::quant
