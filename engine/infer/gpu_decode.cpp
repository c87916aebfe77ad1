// The program of one token. A dispatch costs 2 µs on an H200 before it does anything, so what lies between two products
// is done by the workgroups of the second one (matvec.wgsl), and everything about attention is one dispatch.
#include <utility>

#include "base/checked.h"
#include "infer/gpu_division.h"
#include "infer/gpu_forward.h"
#include "model/memory.h"

namespace lapidary::infer {
namespace {

// How attention_decode's workgroups are made: `heads` query heads that share a key head, and room for the outputs of
// `held_teams` teams. Two heads read less, but there are fewer workgroups then, each with more to do and twice the code:
// where a window or a short context limits how much there is to read, one.
struct AttentionDivision {
    uint32_t heads = 1;
    uint32_t held_teams = 2;
};

AttentionDivision divide_attention(const gpu::Info& info, const model::LayerConfig& shape, uint32_t keys) {
    constexpr uint32_t kMany = 2048;
    const auto fits = [&](AttentionDivision division) {
        constexpr uint32_t kOthers = 5 * 1024;                           // sums, scales, statistics
        const uint32_t rows = division.heads + 2 + division.held_teams;  // queries, the token's own, what teams add up
        return rows * shape.head_dim * 4 + kOthers <= info.max_workgroup_bytes;
    };
    AttentionDivision out;
    const bool shared = shape.heads / shape.kv_heads % 2 == 0;
    if (keys > kMany && shared && fits({.heads = 2})) out.heads = 2;
    for (const uint32_t teams : {4, 8}) {
        if (fits({out.heads, teams})) out.held_teams = teams;
    }
    return out;
}

// The longest row that the workgroups of a product prepare, each for itself. A seam must fit into their registers, a run of 16
// a thread; and models with longer rows have so many of them that preparing x once, before the product, costs less.
constexpr uint64_t kMostPrepared = 16ull * 256;

// The most rows whose sum a product may leave: whoever norms it adds them up.
constexpr uint32_t kMostParts = 4;

// The longest row that residual_norm leaves as planes.
constexpr uint64_t kMostLeft = 2 * kMostPrepared;

}  // namespace

// The weights of a product, the other format's behind them, of which the kernel must know where they are.
gpu::Binding GpuForward::weights_of(const Product& p, const GpuMatrix::Piece& piece,
                                    std::vector<gpu::Constant>& constants) {
    gpu::Binding weights = piece.binding;
    if (p.below == nullptr) return weights;
    const gpu::Binding& below = p.below->pieces[0].binding;
    weights.size = below.offset + below.size;
    constants.push_back({"kFirstRows", double(piece.rows)});
    const uint64_t second_at = below.offset / kernels::gpu_bytes(p.below->format, 1, p.below->cols);
    constants.push_back({"kSecondAt", double(second_at)});
    return weights;
}

kernels::Activations GpuForward::form_for(const GpuMatrix& matrix) const {
    return kernels::holds_whole_numbers(matrix.format) ? resources_.variant().activations
                                                       : kernels::Activations::floats;
}

bool GpuForward::prepares(const GpuMatrix& matrix) const {
    return matrix.cols <= kMostPrepared && fits_workgroup(device().info(), form_for(matrix), matrix.cols);
}

bool GpuForward::joins(const GpuMatrix& matrix, const GpuMatrix& below) const {
    constexpr uint64_t kMostRows = 4;  // of a group of threads: they must not be in both
    return matrix.pieces.size() == 1 && below.pieces.size() == 1 &&
           matrix.pieces[0].binding.buffer == below.pieces[0].binding.buffer && matrix.rows % kMostRows == 0 &&
           kernels::holds_whole_numbers(matrix.format) && kernels::holds_whole_numbers(below.format);
}

void GpuForward::matvec(GpuRecorder& program, const Product& p, const Source& source, uint32_t block) {
    const GpuMatrix& m = *p.matrix;
    if (const auto division = walk_of(p, source, block)) return walk(program, p, source.x, *division);
    // Stacked halves (gate and up) and experts need all rows in one binding.
    const bool pairs = p.finish == Finish::gelu_gate;
    const bool whole = pairs || p.experts > 0;
    if (whole && m.pieces.size() > 1) {
        return program.refuse(Code::unsupported, "a weight of {} is larger than this GPU binds at once",
                              format_bytes(kernels::gpu_bytes(m.format, m.rows, m.cols)));
    }
    for (const GpuMatrix::Piece& piece : m.pieces) {
        const uint64_t out = whole ? p.out_rows : piece.rows + (p.below != nullptr ? p.below->rows : 0);
        const bool dear = p.planes || source.from == From::parts || (source.from == From::seam && m.cols > 2048);
        const Preparing preparing = source.from == From::prepared ? Preparing::none
                                    : dear                        ? Preparing::dear
                                                                  : Preparing::cheap;
        const MatvecDivision division = divide_matvec(device().info(), pairs ? 2 * out : out, m.cols, pairs, preparing);
        const uint32_t outputs = division.outputs(pairs);
        // Weights that wait take registers, and where there are many workgroups these are short. To software it is a second
        // copy of the loop's body to compile, and no memory is far away.
        constexpr uint64_t kFewGroups = 2ull * 132;  // two for each processor of an H200
        const bool has_room = !pairs || ceil_div(out, outputs) <= kFewGroups;
        const bool ahead = source.from != From::prepared && has_room && !device().info().software;
        const bool one = block == 1 && p.experts == 0;
        uint64_t y_first = p.y_offset + (whole ? 0 : piece.first_row);
        gpu::Binding y = p.y;
        // Products that differ in nothing but where their rows go and how many they are share a pipeline: the GPU's caches
        // have room for the code of about one layer (docs/performance.md).
        if (one && y_first * sizeof(float) % kernels::kBindingAlignment == 0) {
            y.offset += y_first * sizeof(float);
            y.size -= y_first * sizeof(float);
            y_first = 0;
        }
        std::vector<gpu::Constant> constants = {
            {"kCols", double(m.cols)},        {"kYOffset", double(y_first)},
            {"kFinish", double(p.finish)},    {"kPlanes", p.planes ? 1.0 : 0.0},
            {"kSource", double(source.from)}, {"kLanes", double(division.lanes)},
            {"kRows", double(division.rows)}, {"kThreads", double(division.threads)},
            {"kAhead", ahead ? 1.0 : 0.0}};
        const bool grid_says = one && !pairs && !p.planes && out % outputs == 0;
        const gpu::Binding weights = weights_of(p, piece, constants);
        if (!grid_says) constants.push_back({"kOut", double(out)});
        if (!one) constants.push_back({"kYStride", double(p.y_stride > 0 ? p.y_stride : m.rows)});
        if (p.finish == Finish::gelu_times_aux) {
            constants.push_back({"kAuxStride", double(p.aux_stride)});
            constants.push_back({"kAuxOffset", double(p.aux_offset)});
        }
        if (p.finish == Finish::softcap) constants.push_back({"kCap", double(model_->config().logit_softcap)});
        if (block > 1) constants.push_back({"kTokens", double(block)});
        if (p.experts > 0) {
            const uint64_t rows_of_one = m.rows / model_->config().experts.count;
            constants.push_back({"kExperts", double(p.experts)});
            constants.push_back({"kWRows", double(rows_of_one)});
            constants.push_back({"kXPerSlot", p.x_per_slot ? 1.0 : 0.0});
        }
        if (source.from == From::seam) {
            constants.push_back({"kAdd", source.add ? 1.0 : 0.0});
            constants.push_back({"kNext", source.next ? 1.0 : 0.0});
            constants.push_back({"kEps", double(model_->config().norm_epsilon)});
        }
        if (source.from == From::parts) {
            constants.push_back({"kDim", double(source.dim)});
            constants.push_back({"kWindow", double(source.window)});
            constants.push_back({"kMaxSplits", double(source.max_splits)});
        }
        const auto or_nothing = [&](gpu::Binding binding) { return binding.buffer != 0 ? binding : a_.step; };
        const gpu::Binding h = source.h.buffer != 0 ? source.h : gpu::Binding{a_.spare.buffer, 0, 256};
        program.add(
            kernels::kMatvec, constants,
            {weights, source.x, or_nothing(source.delta), or_nothing(source.norms), or_nothing(p.aux), a_.step, h, y},
            {ceil_div(out, outputs), block, std::max<uint32_t>(p.experts, 1)}, p.formats(),
            format("{} {}", m.cols, out));
    }
}

std::optional<WalkDivision> GpuForward::walk_of(const Product& p, const Source& source, uint32_t block) const {
    const GpuMatrix& m = *p.matrix;
    const bool pairs = p.finish == Finish::gelu_gate;
    const bool plain = (pairs || p.finish == Finish::plain) && !p.planes && p.experts == 0 && block == 1;
    if (source.from != From::prepared || form_for(m) != kernels::Activations::planes || !plain || m.pieces.size() > 1 ||
        p.y_offset * sizeof(float) % kernels::kBindingAlignment != 0) {
        return std::nullopt;
    }
    Walked walked{.rows = pairs ? p.out_rows : m.rows,
                  .bytes = kernels::gpu_bytes(m.format, m.rows, m.cols),
                  .cols = m.cols,
                  .pairs = pairs,
                  .most_parts = p.most_parts};
    if (p.below != nullptr) {
        walked.below_rows = p.below->rows;
        walked.below_bytes = kernels::gpu_bytes(p.below->format, p.below->rows, m.cols);
    }
    return divide_walk(device().info(), model_->choice().processors, walked);
}

void GpuForward::walk(GpuRecorder& program, const Product& p, gpu::Binding x, const WalkDivision& division) {
    const GpuMatrix& m = *p.matrix;
    const GpuMatrix::Piece& piece = m.pieces[0];
    const bool pairs = p.finish == Finish::gelu_gate;
    const uint64_t out = pairs ? p.out_rows : piece.rows + (p.below != nullptr ? p.below->rows : 0);
    std::vector<gpu::Constant> constants = {{"kCols", double(m.cols)},           {"kOut", double(out)},
                                            {"kFinish", double(p.finish)},       {"kRows", double(division.rows)},
                                            {"kParts", double(division.parts)},  {"kGroups", double(division.groups)},
                                            {"kSteps", double(division.steps())}};
    if (p.below != nullptr) {
        constants.push_back({"kFirstGroups", double(division.first_groups)});
        constants.push_back({"kFirstSteps", double(division.first_steps)});
        constants.push_back({"kSecondSteps", double(division.second_steps)});
    }
    const gpu::Binding weights = weights_of(p, piece, constants);
    gpu::Binding y = p.y;
    y.offset += p.y_offset * sizeof(float);
    y.size -= p.y_offset * sizeof(float);
    return program.add(kernels::kWalk, std::move(constants), {weights, x, y}, {division.groups * division.parts, 1, 1},
                       p.formats(), format("{} {}", m.cols, out));
}

void GpuForward::row_product(GpuRecorder& program, Product p, uint32_t block) {
    const GpuMatrix& m = *p.matrix;
    const kernels::Activations form = form_for(m);
    const bool fits = fits_workgroup(device().info(), form, m.cols);
    const bool one = block == 1 && p.experts == 0;
    // Where very many workgroups would make the same planes, a dispatch of its own makes them.
    const bool often = one && form == kernels::Activations::planes && m.cols > kMostPrepared;
    if (fits && !often) return matvec(program, p, {.x = p.x}, block);
    if (!one) {
        return program.refuse(Code::unsupported, "the GPU backend has no room for experts with rows of {} elements",
                              m.cols);
    }
    if (form == kernels::Activations::floats) {
        return matvec(program, p, {.from = From::prepared, .x = p.x});
    }
    program.add(kernels::kToPlanes, {{"kCols", double(m.cols)}}, {p.x, a_.planes}, {ceil_div(m.cols, 8 * 64), 1, 1});
    return matvec(program, p, {.from = From::prepared, .x = a_.planes});
}

void GpuForward::seam_products(GpuRecorder& program, Residual& residual, const std::vector<float>& next,
                               std::vector<Product> products) {
    for (const Product& p : products) {
        if (!prepares(*p.matrix)) {
            return settled_products(program, residual, next, std::move(products));
        }
    }
    for (Product& p : products) {
        const GpuMatrix& m = *p.matrix;
        // A matrix in pieces: the first has added what was to be added, the others norm the sum again.
        for (const GpuMatrix::Piece& piece : m.pieces) {
            GpuMatrix part = m;
            part.pieces = {piece};
            p.matrix = &part;
            const std::vector<float> weights = joined({residual.post, next, {residual.scale}});
            const Source source{.from = From::seam,
                                .x = residual.h,
                                .delta = residual.post.empty() ? gpu::Binding{} : residual.delta,
                                .norms = program.keep(resources_.floats(weights, "norms")),
                                .h = residual.other,
                                .add = !residual.post.empty(),
                                .next = !next.empty()};
            matvec(program, p, source);
            if (!residual.post.empty() || residual.scale != 1) {
                std::swap(residual.h, residual.other);
                residual.post.clear();
                residual.scale = 1;
            }
        }
    }
}

void GpuForward::settled_products(GpuRecorder& program, Residual& residual, const std::vector<float>& next,
                                  std::vector<Product> products) {
    for (const bool planes : {true, false}) {
        bool settled = false;
        for (Product& p : products) {
            // Without a norm there is nothing to leave behind but the residual itself, in floats.
            const bool wants =
                form_for(*p.matrix) == kernels::Activations::planes && !next.empty() && p.matrix->cols <= kMostLeft;
            if (wants != planes) continue;
            if (!settled) settle(program, residual, next, planes);
            settled = true;
            if (planes) {
                matvec(program, p, {.from = From::prepared, .x = a_.xn});
            } else {
                p.x = next.empty() ? residual.h : a_.xn;
                row_product(program, p);
            }
        }
    }
}

void GpuForward::settle(GpuRecorder& program, Residual& residual, const std::vector<float>& next, bool planes) {
    if (planes) std::swap(residual.h, residual.other);
    Seam s{.x = residual.post.empty() ? gpu::Binding{} : residual.delta,
           .parts = residual.parts,
           .weights = joined({residual.post, next}),
           .scale = residual.scale,
           .y = next.empty() ? gpu::Binding{} : a_.xn,
           .planes = planes,
           .h = residual.h,
           .old_h = residual.other};
    residual.post.clear();
    residual.parts = 1;
    residual.scale = 1;
    return seam(program, std::move(s), 1);
}

void GpuForward::decode_attention(GpuRecorder& program, uint32_t layer, Residual& residual) {
    const model::Config& config = model_->config();
    const model::LayerConfig& shape = config.layers[layer];
    const model::LayerWeights& names = model_->table().layers[layer];
    const bool owns = config.owns_kv(layer);
    const LayerCache& cache = caches_[shape.kv_layer];
    const std::vector<float> norm = model_->vector(names.attn_norm);
    std::vector<Product> products;
    uint64_t offset = 0;
    const std::vector<GpuMatrix>& qkv = model_->layers[layer].qkv;
    const bool joined = qkv.size() == 2 && joins(qkv[0], qkv[1]);
    for (const GpuMatrix& matrix : qkv) {
        if (joined && offset > 0) break;
        products.push_back({.matrix = &matrix,
                            .below = joined ? &qkv[1] : nullptr,
                            .y = a_.qkv,
                            .y_stride = qkv_stride(layer),
                            .y_offset = offset});
        offset += matrix.rows;
    }
    seam_products(program, residual, norm, std::move(products));
    const gpu::Binding& rates = shape.sliding ? rates_.sliding : rates_.full;
    const gpu::Binding turns{a_.turns.buffer, rates.offset / 2, rates.size / 2};  // of vec2, not vec4
    const uint32_t splits = max_splits(layer);
    const uint32_t window = shape.sliding ? config.sliding_window : 0;
    const AttentionDivision division =
        divide_attention(device().info(), shape, shape.sliding ? window : options_.context);
    program.add(kernels::kAttentionDecode,
                {{"kHeads", double(shape.heads)},
                 {"kKvHeads", double(shape.kv_heads)},
                 {"kDim", double(shape.head_dim)},
                 {"kKOffset", double(shape.q_width())},
                 {"kVOffset", double(shape.q_width() + (names.attn_v.present() ? shape.kv_width() : 0))},
                 {"kOwns", owns ? 1.0 : 0.0},
                 {"kRing", double(cache.ring)},
                 {"kWindow", double(window)},
                 {"kEps", double(config.norm_epsilon)},
                 {"kGroup", double(division.heads)},
                 {"kHeldTeams", double(division.held_teams)},
                 {"kMaxSplits", double(splits)}},
                {a_.step, a_.qkv, head_norms_[layer], turns, cache.k, cache.v, a_.parts, a_.stats},
                {shape.heads / division.heads, splits, 1});
    const GpuMatrix& out = model_->layers[layer].attn_output;
    if (prepares(out)) {
        matvec(program, {.matrix = &out, .y = a_.o},
               {.from = From::parts,
                .x = a_.parts,
                .delta = a_.stats,
                .dim = shape.head_dim,
                .window = window,
                .max_splits = splits});
    } else {
        const bool planes = form_for(out) == kernels::Activations::planes;
        const Product product{.matrix = &out, .x = planes ? a_.planes : a_.attended, .y = a_.o};
        program.add(kernels::kAttentionMerge,
                    {{"kCols", double(out.cols)},
                     {"kDim", double(shape.head_dim)},
                     {"kWindow", double(window)},
                     {"kMaxSplits", double(splits)},
                     {"kPlanes", planes ? 1.0 : 0.0}},
                    {a_.step, a_.parts, a_.stats, product.x}, {ceil_div(out.cols, 8 * 64), 1, 1});
        planes ? matvec(program, product, {.from = From::prepared, .x = a_.planes}) : row_product(program, product);
    }
    residual.delta = a_.o;
    residual.post = model_->vector(names.post_attention_norm);
}

void GpuForward::decode_ffn(GpuRecorder& program, uint32_t layer, Residual& residual) {
    const model::LayerConfig& shape = model_->config().layers[layer];
    const model::LayerWeights& names = model_->table().layers[layer];
    const GpuLayer& w = model_->layers[layer];
    // The down projection reads planes that its predecessor has prepared: it has too many columns to do it by itself. But
    // where gate and up do not prepare their own x, their workgroups may have fewer outputs than share a scale.
    const bool planes = form_for(w.down) == kernels::Activations::planes && shape.ffn % 64 == 0 && prepares(w.gate_up);
    seam_products(program, residual, model_->vector(names.ffn_norm),
                  {{.matrix = &w.gate_up,
                    .y = planes ? a_.planes : a_.ff,
                    .finish = Finish::gelu_gate,
                    .out_rows = shape.ffn,
                    .y_stride = shape.ffn,
                    .planes = planes}});
    Product down{.matrix = &w.down, .x = planes ? a_.planes : a_.ff, .y = a_.o};
    // Rows that are too long for products to norm by themselves are normed by a kernel that can add up parts of them.
    if (std::min(w.down.cols, w.down.rows) > kMostPrepared && !names.is_moe()) down.most_parts = kMostParts;
    planes ? matvec(program, down, {.from = From::prepared, .x = a_.planes}) : row_product(program, down);
    const auto walked = walk_of(down, {.from = From::prepared}, 1);
    residual.parts = walked ? walked->parts : 1;
    residual.delta = a_.o;
    residual.post = model_->vector(names.post_ffw_norm);
    if (!names.is_moe()) return;

    record_experts(program, layer, 1, residual.h);
    Seam after{.x = a_.o,
               .x2 = a_.experts,
               .weights = joined(
                   {residual.post, model_->vector(names.post_ffw_norm_1), model_->vector(names.post_ffw_norm_2)}),
               .h = residual.h};
    residual.post.clear();
    return seam(program, std::move(after), 1);
}

void GpuForward::decode_per_layer_input(GpuRecorder& program, uint32_t layer, Residual& residual) {
    const uint64_t p = model_->config().per_layer_width;
    seam_products(program, residual, {},
                  {{.matrix = &model_->layers[layer].inp_gate,
                    .y = a_.gate,
                    .finish = Finish::gelu_times_aux,
                    .aux = per_layer_inputs(layer),
                    .aux_stride = p * model_->config().layers.size(),
                    .aux_offset = per_layer_offset(layer)}});
    row_product(program, {.matrix = &model_->layers[layer].proj, .x = a_.gate, .y = a_.o});
    residual.delta = a_.o;
    residual.post = model_->vector(model_->table().layers[layer].post_norm);
}

void GpuForward::decode_layers(GpuRecorder& program, Depth depth) {
    const model::Config& config = model_->config();
    // Nothing comes before the first layer; with a nothing to add it needs no pipelines of its own.
    Residual residual{.h = {a_.h.buffer, 0, a_.other_h.size},
                      .other = a_.other_h,
                      .delta = a_.zeros,
                      .post = std::vector<float>(config.width)};
    const auto pairs = uint32_t(a_.turns.size / (2 * sizeof(float)));
    program.add(kernels::kTurns, {{"kPairs", double(pairs)}}, {a_.step, rates_.all, a_.turns},
                {ceil_div(pairs, 64), 1, 1});
    const uint32_t complete = complete_layers(depth);
    for (uint32_t layer = 0; layer < complete; ++layer) {
        decode_attention(program, layer, residual);
        decode_ffn(program, layer, residual);
        if (config.per_layer_width > 0) decode_per_layer_input(program, layer, residual);
        const std::vector<float> scale = model_->vector(model_->table().layers[layer].layer_output_scale);
        residual.scale = scale.empty() ? 1.0f : scale[0];
    }
    if (depth == Depth::caches) return decode_attention(program, complete, residual);
    return settle(program, residual, model_->vector(model_->table().output_norm));
}

}  // namespace lapidary::infer
