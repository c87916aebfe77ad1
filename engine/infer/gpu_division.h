// How matvec, walk and attention divide their work, and whether matvec's workgroups can prepare their activations by themselves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "gpu/device.h"
#include "kernels/kernel.h"

namespace lapidary::infer {

struct MatvecDivision {
    uint32_t threads;
    uint32_t lanes;  // threads that share a row
    uint32_t rows;   // of the matrix, that a group of lanes computes together

    [[nodiscard]] uint32_t outputs(bool pairs) const { return threads / lanes * (pairs ? rows / 2 : rows); }
};

// What a workgroup does before it multiplies: nothing, because its activations are there, or more or less of it.
enum class Preparing : uint8_t { none, cheap, dear };

// `pairs`: rows go in pairs (gate and up); where preparing is dear, a workgroup's outputs are a multiple of 32 then, so
// that they can become planes.
MatvecDivision divide_matvec(const gpu::Info& info, uint64_t rows, uint64_t cols, bool pairs, Preparing preparing);

// A product for walk.wgsl.
struct Walked {
    uint64_t rows;  // of the result, in the first format
    uint64_t bytes;
    uint64_t below_rows = 0;  // and in the second
    uint64_t below_bytes = 0;
    uint64_t cols = 0;
    bool pairs = false;
    uint32_t most_parts = 1;  // that its result may be the sum of
};

struct WalkDivision {
    uint32_t parts = 1;
    uint32_t rows = 2;    // of a seat's step
    uint32_t groups = 0;  // of each part
    uint32_t first_groups = 0;
    uint32_t first_steps = 0;
    uint32_t second_steps = 0;

    [[nodiscard]] uint32_t steps() const { return std::max(first_steps, second_steps); }
};

// How the workgroups of a GPU with so many processors go through a matrix together; none where they should not.
std::optional<WalkDivision> divide_walk(const gpu::Info& info, uint32_t processors, const Walked& product);

// How many queries a workgroup of attention.wgsl takes, of heads of `dim` elements, 512 at most.
uint32_t attention_rows(const gpu::Info& info, uint64_t dim);

constexpr uint32_t kMostChoiceParts = 128;

// The slices of the vocabulary that are looked through side by side: two or more.
uint32_t choice_parts(uint64_t vocabulary);

// Bytes of `elements` activations as planes (planes.wgsl).
uint64_t plane_bytes(uint64_t elements);

// Whether a workgroup has room for that many activations.
bool fits_workgroup(const gpu::Info& info, kernels::Activations form, uint64_t elements);

}  // namespace lapidary::infer
