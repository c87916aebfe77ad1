// Which encoding each tensor of a model gets when it is written: large matrices are squeezed hardest, and what is
// small or sensitive is left alone. The rules are those of the public tools, so that our files look like theirs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/tensor_type.h"

namespace lapidary::quant {

enum class Mix : uint8_t { f32, f16, bf16, q8_0, q4_0, q4_k_m };

// "Q4_K_M" → Mix::q4_k_m. As the tools spell them, in capitals.
Result<Mix> find_mix(std::string_view name);

// How other programs number the mixes: the value of the metadata key general.file_type.
uint32_t file_type(Mix mix);

// What the choice for one tensor depends on beyond the tensor itself.
struct MixContext {
    uint32_t n_layer = 0;
    uint32_t attn_v_index = 0;  // how many tensors before this one are counted by is_attn_v()
    uint32_t attn_v_total = 0;  // and how many there are in the model
    bool tied_head = true;      // no output.weight: the token embedding does that work too
};

// blk.N.attn_v.weight. Not every layer has one, so these are counted, not numbered by layer.
bool is_attn_v(std::string_view name);

// The type to store the tensor as; its own where it is to be left alone. `ne` is in file order, row length first.
// The result is always a type that can be encoded and whose blocks divide the row, unless it is `source`.
TensorType choose_type(Mix mix, std::string_view name, std::span<const uint64_t> ne, TensorType source,
                       const MixContext& context);

struct MixTensor {
    std::string_view name;
    std::span<const uint64_t> ne;
    TensorType source;
};

// choose_type() for a whole model, in the order of its tensors, counting as it goes.
std::vector<TensorType> choose_types(Mix mix, std::span<const MixTensor> tensors, uint32_t n_layer);

}  // namespace lapidary::quant
