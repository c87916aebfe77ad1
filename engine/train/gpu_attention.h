// Attention of whole sequences, and its gradients. The scores of all queries would take tokens² for every head, so those of
// a block of queries exist at a time, and on the way back they are computed once more.
#pragma once

#include "infer/ops.h"
#include "kernels/train/qk_norm_rope.h"
#include "train/recording.h"

namespace lapidary::train {

// What the kernels that norm and rotate heads are told; qkv: as the layer has it.
kernels::QkNormRopeShape qk_norm_rope_shape(const Recording& r, const infer::Attention& a, gpu::Tensor qkv);
gpu::Tensor frequencies_of(const Recording& r, const infer::Attention& a);

// y = softmax(q · Kᵀ) · V, of the keys that each row sees. a.kv.k: [T, keys then values]
void attend(const Recording& r, const infer::Attention& a, gpu::Tensor q, gpu::Tensor y);

struct AttentionGradients {
    gpu::Tensor dy;
    gpu::Tensor dq;         // written
    gpu::Tensor dkv;        // added to, where layers that come later have been there:
    bool is_first = false;  // none has
};
void attend_backward(const Recording& r, const infer::Attention& a, gpu::Tensor q, const AttentionGradients& d);

}  // namespace lapidary::train
