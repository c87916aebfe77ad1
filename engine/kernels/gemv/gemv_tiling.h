// How gemv.wgsl divides a product among threads, and whether its workgroups can make their activations by themselves.
#pragma once

#include <cstdint>

#include "kernels/target.h"
#include "kernels/weight_format.h"

namespace lapidary::kernels {

struct GemvTiling {
    uint32_t threads;          // of a workgroup
    uint32_t threads_per_row;  // kLanes
    uint32_t rows;             // of the matrix, that a group of threads computes together
    bool prefetch = false;     // the first weights are loaded before x is made

    // Rows of y that a workgroup computes.
    [[nodiscard]] uint32_t outputs(bool gate_and_up) const {
        return threads / threads_per_row * (gate_and_up ? rows / 2 : rows);
    }
};

// What a workgroup does before it multiplies: nothing, because its activations are there, or more or less of it.
enum class PrologueCost : uint8_t { none, cheap, dear };

// `gate_and_up`: rows go in pairs; where the prologue is dear, a workgroup's outputs are a multiple of 32 then, so that they
// can become limbs.
GemvTiling gemv_tiling(const gpu::Info& info, uint64_t rows, uint64_t cols, bool gate_and_up, PrologueCost prologue);

// In what form a matrix meets its activations.
Activations activations_for(Format format, const Target& target);

// Bytes of `elements` activations as limbs (lib/limbs.wgsl).
uint64_t limb_bytes(uint64_t elements);

// Whether a workgroup has room for that many activations.
bool fits_workgroup(const gpu::Info& info, Activations form, uint64_t elements);

// The longest row that the workgroups of a product make, each for itself. Of a norm it must fit into their registers, 16
// elements a thread; and models with longer rows have so many of them that making x once, before the product, costs less.
inline constexpr uint64_t kMaxPrologueColumns = 16ull * 256;

// Whether a product's workgroups make their activations by themselves.
inline bool makes_its_x(Format format, uint64_t cols, const Target& target) {
    return cols <= kMaxPrologueColumns && fits_workgroup(target.info, activations_for(format, target), cols);
}

}  // namespace lapidary::kernels
