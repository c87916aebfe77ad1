#include "train/gpu_attention.h"

#include "kernels/train/softmax.h"

namespace lapidary::train {
namespace {

using gpu::Tensor;

// out[head, query, key] = by[query] · the keys, or with `values` the values: of a block of queries, with every position.
void multiply_keys(const Recording& r, const infer::Attention& a, uint32_t first, bool values, Tensor by, Tensor out) {
    const uint32_t width = a.shape.q_width();
    r.multiply_batched({.shape = {.m = r.t.tokens,
                                  .n = r.t.query_block,
                                  .k = a.shape.head_dim,
                                  .token_m = 0,
                                  .token_n = first,
                                  .p_at = values ? a.shape.kv_width() : 0,
                                  .p_m = 2 * a.shape.kv_width(),
                                  .p_batch = a.shape.head_dim,
                                  .p_share = a.shape.heads / a.shape.kv_heads,
                                  .q_at = first * width,
                                  .q_n = width,
                                  .q_batch = a.shape.head_dim,
                                  .c_n = r.t.tokens,
                                  .c_batch = r.t.query_block * r.t.tokens},
                        .p = a.kv.k,
                        .q = by,
                        .c = out,
                        .batches = a.shape.heads});
}

// How much a block of queries attends to every position, in `scores`.
void find_probabilities(const Recording& r, const infer::Attention& a, uint32_t first, Tensor q) {
    multiply_keys(r, a, first, false, q, r.t.scores);
    r.program.add(kernels::Softmax{.position_ids = r.t.position_ids,
                                   .scores = r.t.scores,
                                   .first = first,
                                   .block = r.t.query_block,
                                   .keys = r.t.tokens,
                                   .heads = a.shape.heads,
                                   .visible = a.visible});
}

}  // namespace

kernels::QkNormRopeShape qk_norm_rope_shape(const Recording& r, const infer::Attention& a, Tensor qkv) {
    return {.heads = a.shape,
            .stride = qkv.stride,
            .owns_kv = a.owns_kv,
            .values_are_keys = a.values_are_keys,
            .norms_values = a.norms_values,
            .eps = r.config().norm_epsilon,
            .rows = r.t.tokens};
}

Tensor frequencies_of(const Recording& r, const infer::Attention& a) {
    return a.sliding ? r.t.frequencies.sliding : r.t.frequencies.full;
}

void attend(const Recording& r, const infer::Attention& a, Tensor q, Tensor y) {
    const uint32_t width = a.shape.q_width();
    for (uint32_t first = 0; first < r.t.tokens; first += r.t.query_block) {
        find_probabilities(r, a, first, q);
        r.multiply_batched({.shape = {.m = a.shape.head_dim,
                                      .n = r.t.query_block,
                                      .k = r.t.tokens,
                                      .token_n = first,
                                      .token_k = 0,
                                      .p_at = a.shape.kv_width(),
                                      .p_m = 1,
                                      .p_k = 2 * a.shape.kv_width(),
                                      .p_batch = a.shape.head_dim,
                                      .p_share = a.shape.heads / a.shape.kv_heads,
                                      .q_n = r.t.tokens,
                                      .q_batch = r.t.query_block * r.t.tokens,
                                      .c_at = first * width,
                                      .c_n = width,
                                      .c_batch = a.shape.head_dim},
                            .p = a.kv.k,
                            .q = r.t.scores,
                            .c = y,
                            .batches = a.shape.heads});
    }
}

void attend_backward(const Recording& r, const infer::Attention& a, Tensor q, const AttentionGradients& d) {
    const uint32_t tokens = r.t.tokens;
    const uint32_t group = a.shape.heads / a.shape.kv_heads;
    const uint32_t width = a.shape.q_width();
    const uint32_t dim = a.shape.head_dim;
    const uint32_t kv_stride = 2 * a.shape.kv_width();
    const uint32_t matrix = r.t.query_block * tokens;
    for (uint32_t first = 0; first < tokens; first += r.t.query_block) {
        const uint32_t at = first * width;
        find_probabilities(r, a, first, q);
        // dp[query, key] = dy · v
        multiply_keys(r, a, first, true, d.dy, r.t.dscores);
        // dv[key] += Σ p[query, key] · dy[query], over the queries of every head that shares the value
        const auto add_to_keys = [&](Tensor rows, Tensor by_key, uint32_t offset) {
            r.multiply_batched({.shape = {.m = dim,
                                          .n = tokens,
                                          .k = r.t.query_block,
                                          .repeats = group,
                                          .token_n = 0,
                                          .token_k = first,
                                          .p_at = at,
                                          .p_m = 1,
                                          .p_k = width,
                                          .p_batch = group * dim,
                                          .p_repeat = dim,
                                          .q_n = 1,
                                          .q_k = tokens,
                                          .q_batch = group * matrix,
                                          .q_repeat = matrix,
                                          .c_at = offset,
                                          .c_n = kv_stride,
                                          .c_batch = dim,
                                          .keep = d.is_first && first == 0 ? 0u : 1u},
                                .p = rows,
                                .q = by_key,
                                .c = d.dkv,
                                .batches = a.shape.kv_heads});
        };
        add_to_keys(d.dy, r.t.scores, a.shape.kv_width());
        r.program.add(kernels::SoftmaxBackward{.p = r.t.scores,
                                               .dp = r.t.dscores,
                                               .first = first,
                                               .block = r.t.query_block,
                                               .keys = tokens,
                                               .heads = a.shape.heads});
        // dq[query] = Σ ds[query, key] · k[key]
        r.multiply_batched({.shape = {.m = dim,
                                      .n = r.t.query_block,
                                      .k = tokens,
                                      .token_n = first,
                                      .token_k = 0,
                                      .p_m = 1,
                                      .p_k = kv_stride,
                                      .p_batch = dim,
                                      .p_share = group,
                                      .q_n = tokens,
                                      .q_batch = matrix,
                                      .c_at = at,
                                      .c_n = width,
                                      .c_batch = dim},
                            .p = a.kv.k,
                            .q = r.t.dscores,
                            .c = d.dq,
                            .batches = a.shape.heads});
        add_to_keys(q, r.t.dscores, 0);
    }
}

}  // namespace lapidary::train
