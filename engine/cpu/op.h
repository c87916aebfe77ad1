// What a program of the CPU backend is made of: ops over rows of floats, with addresses in the memory of a machine. Written by
// the engine, read by the kernels, which are compiled without a C++ library; so it has nothing but numbers.
#pragma once

#include <stdint.h>

namespace lapidary::cpu {

using Address = uint32_t;  // a multiple of 16; 0: there is none

// Tokens that go through a program together, at most.
inline constexpr uint32_t kMaxRows = 64;

// How a matrix lies in memory. Those of whole numbers are packed in groups of eight rows (kernels/packed.h), the others are as in
// the file.
enum class Form : uint32_t { none, q4_k, q5_k, q6_k, q4_0, q5_0, q8_0, i8, f32, f16, bf16 };

// Activations as whole numbers, so that their sums with quantised weights are exact: two digits of 14 bits, three of 8, or one of 8,
// which is not exact.
enum class Digits : uint32_t { none, two_i16, three_i8, one_i8 };

struct Rows {
    Address at;
    uint32_t stride;  // floats from row to row
};

struct Matrix {
    Form form;
    Address at;
    uint32_t rows, cols;
};

// Where the tokens of a run are: what of a program changes from run to run.
struct Step {
    uint32_t position;  // of the first row
    uint32_t count;     // of rows
    int32_t ids[kMaxRows];
};

enum class Kind : uint32_t {
    embed,       // y = scale · table[ids]
    embed_rows,  // y = scale · table[0 … count), a table that holds just the tokens' rows
    angles,      // cosines and sines of the rows' positions
    norm,        // what is pending is added to the stream; y = rms(stream)
    digits,      // x as whole numbers
    product,     // y = W · x
    gelu_gate,   // y = gelu(gate) ⊙ up
    heads,       // q and k normed and rotated, k and v stored
    attend,      // softmax(q · Kᵀ) · V
    layer_inputs,
    route,    // which experts a row goes to
    experts,  // y = W_e · x for the experts e of each row
    combine,  // y = Σ weight · x over a row's experts
    softcap,
    add_column,  // y += scale · B · A[:, id], of an adapter of the embedding
    pack,        // rows of a file → a packed matrix
};

struct EmbedOp {
    Matrix table;
    Rows y;
    float scale;
};

// inverse[half], as doubles: the angle that a position adds. → [rows][half] of (cos, sin)
struct AnglesOp {
    Address inverse;
    Address out;
    uint32_t half;
};

// h' = (h + rms(x; post)) · scale, or with a second branch (h + rms(rms(x; post_1) + rms(x2; post_2); post)) · scale; y = rms(h';
// next) · y_scale, h' itself where `copies`, nothing where y is 0. post and the like may be 0: a norm without weights.
struct NormOp {
    Rows h, x, x2, y;
    Address post, post_1, post_2, next;
    uint32_t n;
    uint32_t copies;
    float scale, y_scale, eps;
};

struct DigitsOp {
    Rows x;
    uint32_t cols;
    Digits digits;
    Address out;
    uint32_t per_token;  // rows of x for each token
};

struct ProductOp {
    Matrix w;
    Digits digits;  // what x is; none: floats
    uint32_t adds;  // y += scale · W · x
    float scale;
    Rows x;  // of digits: their address
    Rows y;
};

struct GeluGateOp {
    Rows gate, up, y;
    uint32_t cols;
    uint32_t per_token;
};

// The rows of qkv are q, then k, then v, where the layer has them.
struct HeadsOp {
    Rows qkv;
    Address angles;          // of AnglesOp
    Address q_norm, k_norm;  // [head_dim]
    Address keys, values;    // [ring, kv_heads · head_dim]; 0: nothing is stored
    uint32_t heads, kv_heads, head_dim, ring;
    uint32_t values_are_keys, norms_values, with_queries;
    float eps;
};

// A row sees the keys up to its own, or a window of them; or what a table says.
struct AttendOp {
    Rows q, y;
    Address keys, values;
    Address sees;  // [rows] of (first key, the one behind the last), or 0
    uint32_t heads, kv_heads, head_dim, ring, window;
};

// y[l] = (rms(context[l] · scale; norm) + tokens[l]) / √2, for `layers` parts of `width`
struct LayerInputsOp {
    Rows context, tokens, y;
    Address norm;
    uint32_t width, layers;
    float scale, eps;
};

struct RouteOp {
    Rows logits;
    Address scales;        // [experts], or 0
    Address ids, weights;  // [rows, used]
    uint32_t experts, used;
};

// y[t · used + s] = W[ids[t, s]] · x[t], or · x[t · used + s]
struct ExpertsOp {
    Matrix w;        // of one expert
    uint32_t slice;  // bytes from expert to expert
    Digits digits;
    uint32_t used, x_per_slot, count;
    Address ids;
    Rows x, y;
};

struct CombineOp {
    Rows x, y;
    Address weights;
    uint32_t cols, used;
};

struct SoftcapOp {
    Rows y;
    uint32_t cols;
    float cap;
};

struct AddColumnOp {
    Address a, b;  // [rank, in], [out, rank]
    uint32_t in, out, rank;
    Rows y;
    float scale;
};

// Rows [first, first + count) of a matrix, from a file's bytes; `first` is a multiple of 8, and so is `count` but for the last.
struct PackOp {
    Matrix w;
    Address from;
    uint32_t row_bytes;
    uint32_t first, count;
};

struct Op {
    Kind kind;
    uint32_t work;  // multiplications a row of the step makes, about
    union {
        EmbedOp embed;
        AnglesOp angles;
        NormOp norm;
        DigitsOp digits;
        ProductOp product;
        GeluGateOp gelu_gate;
        HeadsOp heads;
        AttendOp attend;
        LayerInputsOp layer_inputs;
        RouteOp route;
        ExpertsOp experts;
        CombineOp combine;
        SoftcapOp softcap;
        AddColumnOp add_column;
        PackOp pack;
    };
};

}  // namespace lapidary::cpu
