#include "train/lora_deltas.h"

namespace lapidary::train {

using gpu::Tensor;
using kernels::Drop;

void LoraDeltas::sum_partials(uint32_t rank, Tensor z) const {
    r_.program.add(kernels::SumPartials{.partials = r_.t.partials, .y = z, .width = rank, .rows = r_.t.tokens});
}

void LoraDeltas::add(lora::Target target, Tensor x, Columns y) const {
    const Slot* slot = layout_.find(layer_, target);
    if (slot == nullptr) return;
    const auto rank = uint32_t(slot->shape.rank);
    const auto in = uint32_t(slot->shape.in);
    const uint32_t part = kernels::partial_columns(in);
    const Tensor z = z_[size_t(target)];
    const auto number = uint32_t(slot - layout_.slots().data());
    r_.multiply_batched({.shape = {.m = r_.t.tokens,
                                   .n = rank,
                                   .k = part,
                                   .token_m = 0,
                                   .all_k = in,
                                   .p_m = in,
                                   .p_batch = part,
                                   .q_at = uint32_t(slot->a - lora_.begin),
                                   .q_n = in,
                                   .q_batch = part,
                                   .c_m = rank,
                                   .c_n = 1,
                                   .c_batch = r_.t.tokens * rank,
                                   .update = number,
                                   .columns = in},
                         .p = x,
                         .q = lora_.values,
                         .c = r_.t.partials,
                         .wide = false,
                         .batches = kernels::kPartialSums,
                         .drop = dropout_ ? Drop::from_p : Drop::nothing});
    sum_partials(rank, z);
    r_.multiply_batched({.shape = {.m = uint32_t(slot->shape.out),
                                   .n = r_.t.tokens,
                                   .k = rank,
                                   .token_n = 0,
                                   .p_at = uint32_t(slot->b - lora_.begin),
                                   .p_m = rank,
                                   .q_n = rank,
                                   .c_at = uint32_t(y.first),
                                   .c_n = y.rows.stride,
                                   .keep = 1,
                                   .factor = slot->shape.scale},
                         .p = lora_.values,
                         .q = z,
                         .c = y.rows});
}

void LoraDeltas::add_backward(lora::Target target, Tensor x, Columns dy, Tensor dx) const {
    const Slot* slot = layout_.find(layer_, target);
    if (slot == nullptr) return;
    const auto rank = uint32_t(slot->shape.rank);
    const auto in = uint32_t(slot->shape.in);
    const auto out = uint32_t(slot->shape.out);
    const auto a = uint32_t(slot->a - lora_.begin);
    const auto b = uint32_t(slot->b - lora_.begin);
    const auto stride = dy.rows.stride;
    const auto offset = uint32_t(dy.first);
    const uint32_t part = kernels::partial_columns(out);
    const auto number = uint32_t(slot - layout_.slots().data());
    r_.multiply_batched({.shape = {.m = r_.t.tokens,
                                   .n = rank,
                                   .k = part,
                                   .token_m = 0,
                                   .all_k = out,
                                   .p_at = offset,
                                   .p_m = stride,
                                   .p_batch = part,
                                   .q_at = b,
                                   .q_n = 1,
                                   .q_k = rank,
                                   .q_batch = part * rank,
                                   .c_m = rank,
                                   .c_n = 1,
                                   .c_batch = r_.t.tokens * rank,
                                   .factor = slot->shape.scale},
                         .p = dy.rows,
                         .q = lora_.values,
                         .c = r_.t.partials,
                         .wide = false,
                         .batches = kernels::kPartialSums});
    sum_partials(rank, r_.t.dz);
    r_.multiply_batched({.shape = {.m = out,
                                   .n = rank,
                                   .k = r_.t.tokens,
                                   .token_k = 0,
                                   .p_at = offset,
                                   .p_m = 1,
                                   .p_k = stride,
                                   .q_n = 1,
                                   .q_k = rank,
                                   .c_at = b,
                                   .c_m = rank,
                                   .c_n = 1,
                                   .keep = 1,
                                   .factor = slot->shape.scale},
                         .p = dy.rows,
                         .q = z_[size_t(target)],
                         .c = lora_.gradients,
                         .wide = false});
    r_.multiply_batched({.shape = {.m = in,
                                   .n = rank,
                                   .k = r_.t.tokens,
                                   .token_k = 0,
                                   .p_m = 1,
                                   .p_k = in,
                                   .q_n = 1,
                                   .q_k = rank,
                                   .c_at = a,
                                   .c_n = in,
                                   .keep = 1,
                                   .update = number,
                                   .columns = in},
                         .p = x,
                         .q = r_.t.dz,
                         .c = lora_.gradients,
                         .wide = false,
                         .drop = dropout_ ? Drop::from_q : Drop::nothing});
    r_.multiply_batched({.shape = {.m = in,
                                   .n = r_.t.tokens,
                                   .k = rank,
                                   .token_n = 0,
                                   .p_at = a,
                                   .p_m = 1,
                                   .p_k = in,
                                   .q_n = rank,
                                   .c_n = in,
                                   .keep = 1,
                                   .update = number,
                                   .columns = in},
                         .p = lora_.values,
                         .q = r_.t.dz,
                         .c = dx,
                         .drop = dropout_ ? Drop::from_c : Drop::nothing});
}

}  // namespace lapidary::train
