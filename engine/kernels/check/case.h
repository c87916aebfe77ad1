// A case: one or more ops on arrays of random numbers, and what the arrays must hold afterwards.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/checked.h"
#include "base/task.h"
#include "kernels/attention/visible_table.h"
#include "kernels/check/random.h"
#include "kernels/dispatch.h"

namespace lapidary::kernels::check {

// `limbs` (limbs.h): what is expected are the numbers they stand for, and the sums of their runs.
// `cache` (caches.h): the same for keys or values, whatever their format, and for the words behind them.
enum class Element : uint8_t { f32, f16, u32, limbs, cache };

// Rows of keys or values, then their scales, as kernels/kv/rows.wgsl has them.
struct CacheLayout {
    KvFormat kv = KvFormat::f32;
    size_t rows = 0;
    size_t dim = 0;
};

// As an expected value: the kernel must leave this element alone.
inline constexpr double kUntouched = std::numeric_limits<double>::quiet_NaN();

struct Array {
    std::vector<uint8_t> before;  // what is uploaded
    Element element = Element::f32;
    // One an element; kUntouched where the bits must stay what they were. Empty: nobody looks.
    std::vector<double> expected;
    CacheLayout cache = {};  // of Element::cache
    bool is_step = false;    // where we are in the text: kernels read it without being given it
};

// Read by the kernel. Numbers come with some large ones behind them, which show where a kernel reads too far.
Array given(std::span<const float> values);
Array given(std::span<const uint32_t> values);
Array given(std::vector<uint8_t> bytes);
Array given(std::span<const VisibleRow> rows);
// Read and written; what is not assigned in `expected` must not change.
Array in_place(std::span<const float> values);
// Written only: noise before, and a margin behind that must not change.
Array written(Random& random, size_t elements, Element element = Element::f32);
// Where we are in the text, as every kernel wants it.
Array step(uint32_t position, uint32_t tokens);

// A case's arrays on the GPU, in their order. What their rows are the case knows.
using Tensors = std::span<const gpu::Tensor>;

// What the host does between two launches, when the first is done and before the second begins.
using HostStep = Task<Status> (*)(gpu::Device& device, Tensors arrays, Cancel cancel);

struct Launch {
    std::function<Result<Dispatch>(const Target&, Tensors)> op;
    std::optional<Grid> grid = {};  // instead of the op's: more workgroups than have anything to do
    uint32_t times = 1;             // one after the other
    HostStep then = nullptr;
};

// `make` gives the op for the arrays.
template <class Make>
Launch launch(Make make) {
    return {.op = [make](const Target& target, Tensors arrays) { return make(arrays).dispatch(target); }};
}

// One of the arrays as rows.
inline gpu::Tensor with_stride(gpu::Tensor tensor, uint64_t stride) {
    tensor.stride = uint32_t(stride);
    return tensor;
}

struct Case {
    std::string shape;                  // for people, not at load: "17 × 96, 2 tokens, gelu_gate"
    std::optional<TensorType> weights;  // of kernels that read weights: what they were packed from
    std::optional<TensorType> below;    // what the last of them were packed from, where that is something else
    std::optional<Activations> only;    // in this form, because the case has prepared them
    std::optional<KvFormat> kv;         // of kernels that know a cache: how it is kept
    bool quick = false;                 // also in the self-test at load: one for each kernel and format
    uint32_t workgroup_bytes = 0;       // that it needs; left out where there is less
    double limit = 3e-6;                // of the relative L2 error; sums in f32 are off by some 2e-7
    std::vector<Launch> launches;
    std::function<std::vector<Array>(Random&)> arrays;
};

// A case of each shape; the first ones are quick. (Lists of shapes are data; lists of cases would be code, and more of it.)
template <class Shape>
std::vector<Case> cases_of(std::span<const Shape> shapes, Case (*make)(const Shape&), size_t quick) {
    std::vector<Case> out;
    for (const Shape& shape : shapes) {
        out.push_back(make(shape));
        out.back().quick = out.size() <= quick;
    }
    return out;
}

}  // namespace lapidary::kernels::check
