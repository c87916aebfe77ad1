// How matvec divides its work, and whether its workgroups can prepare their activations by themselves.
#pragma once

#include <cstdint>

#include "gpu/device.h"
#include "kernels/kernel.h"

namespace lapidary::infer {

struct MatvecDivision {
    uint32_t threads;
    uint32_t lanes;     // threads that share a row
    uint32_t rows;      // of the matrix, that a group of lanes computes together
    uint32_t sets = 1;  // of rows, one after the other

    [[nodiscard]] uint32_t outputs(bool pairs) const { return threads / lanes * (pairs ? rows / 2 : rows) * sets; }
};

// What a workgroup does before it multiplies: nothing, because its activations are there, or more or less of it.
enum class Preparing : uint8_t { none, cheap, dear };

// `pairs`: rows go in pairs (gate and up); where preparing is dear, a workgroup's outputs are a multiple of 32 then, so
// that they can become planes.
MatvecDivision divide_matvec(const gpu::Info& info, uint64_t rows, uint64_t cols, bool pairs, Preparing preparing);

constexpr uint32_t kMostChoiceParts = 128;

// The slices of the vocabulary that are looked through side by side: two or more.
uint32_t choice_parts(uint64_t vocabulary);

// Bytes of `elements` activations as planes (planes.wgsl).
uint64_t plane_bytes(uint64_t elements);

// Whether a workgroup has room for that many activations.
bool fits_workgroup(const gpu::Info& info, kernels::Activations form, uint64_t elements);

}  // namespace lapidary::infer
