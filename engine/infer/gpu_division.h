// How matvec divides its work, and whether its workgroups can prepare their activations by themselves.
#pragma once

#include <cstdint>

#include "gpu/device.h"
#include "kernels/kernel.h"

namespace lapidary::infer {

struct MatvecDivision {
    uint32_t threads;
    uint32_t lanes;  // threads that share a row; no more than it has units of 64
    uint32_t rows;   // of the matrix, that a group of lanes computes together

    [[nodiscard]] uint32_t outputs(bool pairs) const { return threads / lanes * (pairs ? rows / 2 : rows); }
};

// `pairs`: rows go in pairs (gate and up). `large`: 256 threads, and a multiple of 32 outputs where rows go in pairs,
// because they become planes or because preparing the activations is dear.
MatvecDivision divide_matvec(const gpu::Info& info, uint64_t rows, uint64_t cols, bool pairs, bool large);

constexpr uint32_t kMostChoiceParts = 64;

// The slices of the vocabulary that are looked through side by side.
uint32_t choice_parts(uint64_t vocabulary);

// Bytes of `elements` activations as planes (planes.wgsl).
uint64_t plane_bytes(uint64_t elements);

// Whether a workgroup has room for that many activations.
bool fits_workgroup(const gpu::Info& info, kernels::Activations form, uint64_t elements);

}  // namespace lapidary::infer
