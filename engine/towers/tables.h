// The weights of towers, found in the file by either dialect's name, with their shapes checked. Shapes as [rows, cols], like
// those of the text model (model/weights.h).
#pragma once

#include <array>
#include <vector>

#include "model/weights.h"
#include "towers/config.h"

namespace lapidary::towers {

using model::Weight;

// A linear layer whose inputs and outputs may be clipped: clamp(W · clamp(x)). Bounds are scalars of the file, or four
// neighbours in a tensor that has those of all layers.
struct Linear {
    Weight weight;
    std::array<Weight, 4> bounds;  // least input, greatest input, least output, greatest output; each may be absent
    Weight packed;                 // v.clamp_data
    uint32_t packed_at = 0;        // the first of the four in it
    bool zero_is_none = false;     // a pair whose greatest is 0 bounds nothing
};

struct Affine {
    Weight weight;
    Weight bias;
};

struct VisionLayer {
    Weight ln1;             // [dv]
    Linear q, k, v;         // [dv, dv]
    Weight q_norm, k_norm;  // [head_dim]
    Linear out;             // [dv, dv]
    Weight attn_post_norm;  // [dv]
    Weight ln2;             // [dv]
    Linear gate, up;        // [ffn, dv]
    Linear down;            // [dv, ffn]
    Weight ffn_post_norm;   // [dv]
    Weight out_scale;       // [1]   absent means 1
};

struct VisionTable {
    // gemma4v: [dv, 3 · patch · patch], a row in the order channel, y, x. gemma4uv: the same order, and a bias.
    Affine patch_embd;
    std::array<Affine, 3> patch_norm;  // gemma4uv: of a patch's values, of what it becomes, and with its position
    Weight position_embd;              // [2][positions, dv]   x, then y
    std::vector<VisionLayer> layers;
    Weight std_bias, std_scale;  // [dv]   large towers
    Linear projection;           // [output, dv]
    std::vector<Weight> all;     // every weight that is present
};

struct FeedForward {
    Weight norm;       // [d]
    Linear up;         // [ffn, d]
    Linear down;       // [d, ffn]
    Weight post_norm;  // [d]
};

struct AudioLayer {
    FeedForward ffn1;
    Weight attn_pre_norm;   // [d]
    Linear q, k, v, out;    // [d, d]
    Weight k_rel;           // [d, d]   of relative positions
    Weight per_dim_scale;   // [head_dim], softplus is applied already
    Weight attn_post_norm;  // [d]
    Weight conv_norm;       // [d]
    Linear conv_pw1;        // [2d, d]
    Weight conv_dw;         // [d, kernel]
    Weight norm_conv;       // [d]
    Linear conv_pw2;        // [d, d]
    FeedForward ffn2;
    Weight output_norm;  // [d]
};

struct AudioTable {
    struct Convolution {
        Weight weight;  // [channels, channels before · 3 · 3], a row in the order channel, time, frequency
        Weight norm;    // [channels]
    };
    std::array<Convolution, 2> conv;
    Weight input_projection;  // [d, mel_bins / 4 · channels], a row in the order frequency, channel
    std::vector<AudioLayer> layers;
    Affine output_projection;  // [projected, d]
    Weight projection;         // [output, projected]; gemma4ua: [output, frame]
    std::vector<Weight> all;   // every weight that is present
};

}  // namespace lapidary::towers
