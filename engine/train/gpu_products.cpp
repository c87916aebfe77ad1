// What the passes are made of: products, updates, norms, each a dispatch or a few.
#include "base/checked.h"
#include "kernels/matmul_tile.h"
#include "model/memory.h"
#include "train/gpu_pass.h"

namespace lapidary::train {

using kernels::GemmShape;

namespace {

// Of a workgroup in gemm.wgsl and matmul_back.wgsl, and in matmul.wgsl where nothing else is asked for.
constexpr uint32_t kTile = 64;
constexpr uint32_t kThinTile = 16;

}  // namespace

void GpuPass::product(GpuRecorder& program, const GpuMatrix& matrix, Binding x, Place y) {
    for (const GpuMatrix::Piece& piece : matrix.pieces) {
        std::vector<gpu::Constant> constants = {{"kCols", double(matrix.cols)},
                                                {"kOut", double(piece.rows)},
                                                {"kYStride", double(y.stride)},
                                                {"kYOffset", double(y.offset + piece.first_row)},
                                                {"kFinish", 0}};
        const auto tile =
            kernels::matmul_tile(piece.rows, tokens(), false, resources_.device().info().max_workgroup_bytes);
        tile.add_to(constants);
        program.add(kernels::kMatmul, std::move(constants), {s_.step, piece.binding, x, s_.step, y.buffer},
                    {ceil_div(tokens(), tile.tokens()), ceil_div(piece.rows, tile.rows()), 1}, matrix.format);
    }
}

void GpuPass::product_back(GpuRecorder& program, const GpuMatrix& matrix, Place dy, Binding dx, bool add) {
    for (const GpuMatrix::Piece& piece : matrix.pieces) {
        program.add(kernels::kMatmulBack,
                    {{"kCols", double(matrix.cols)},
                     {"kRows", double(piece.rows)},
                     {"kYStride", double(dy.stride)},
                     {"kYOffset", double(dy.offset + piece.first_row)},
                     {"kAdd", add || piece.first_row > 0 ? 1.0 : 0.0}},
                    {s_.step, piece.binding, dy.buffer, s_.step, dx},
                    {ceil_div(matrix.cols, kTile), ceil_div(tokens(), kTile), 1}, matrix.format);
    }
}

void GpuPass::expert_product(GpuRecorder& program, const GpuMatrix& matrix, Binding lists, Binding x, Binding y,
                             uint32_t share) {
    const uint32_t experts = config().experts.count;
    if (matrix.pieces.size() > 1) {
        return program.refuse(Code::unsupported, "the experts' weights of {} are larger than this GPU binds at once",
                              format_bytes(kernels::gpu_bytes(matrix.format, matrix.rows, matrix.cols)));
    }
    const uint64_t rows = matrix.rows / experts;
    return program.add(kernels::kMatmul,
                       {{"kCols", double(matrix.cols)},
                        {"kOut", double(rows)},
                        {"kFinish", 0},
                        {"kExperts", double(experts)},
                        {"kMost", double(tokens())},
                        {"kShare", double(share)}},
                       {s_.step, matrix.pieces[0].binding, x, lists, y},
                       {experts * ceil_div(tokens(), kTile), ceil_div(rows, kTile), 1}, matrix.format);
}

void GpuPass::expert_product_back(GpuRecorder& program, const GpuMatrix& matrix, Binding lists, Binding dy,
                                  Binding dx) {
    const uint32_t experts = config().experts.count;
    const uint64_t rows = matrix.rows / experts;
    return program.add(kernels::kMatmulBack,
                       {{"kCols", double(matrix.cols)},
                        {"kRows", double(rows)},
                        {"kExperts", double(experts)},
                        {"kMost", double(tokens())}},
                       {s_.step, matrix.pieces[0].binding, dy, lists, dx},
                       {ceil_div(matrix.cols, kTile), experts * ceil_div(tokens(), kTile), 1}, matrix.format);
}

void GpuPass::gemm(GpuRecorder& program, GemmShape shape, Binding p, Binding q, Binding c, bool wide, uint32_t batches,
                   uint32_t drop) {
    const Binding about = program.keep(words_.put_shape(shape));
    std::vector<gpu::Constant> constants = {{"kWide", wide ? 1.0 : 0.0}};
    if (drop > 0) constants.push_back({"kDrop", double(drop)});
    return program.add(kernels::kGemm, std::move(constants), {s_.step, about, p, q, s_.drops, c},
                       {ceil_div(shape.m, kTile), ceil_div(shape.n, wide ? kTile : kThinTile), batches});
}

void GpuPass::sum_parts(GpuRecorder& program, uint32_t width, Binding y) {
    const Binding size =
        program.keep(words_.put(std::array<uint32_t, 4>{width, infer::kSumParts, tokens() * width, 0}));
    return program.add(kernels::kSumParts, {}, {s_.step, size, s_.parts, y},
                       {ceil_div(uint64_t(tokens()) * width, 64), 1, 1});
}

const Slot* GpuPass::slot_of(uint32_t layer, lora::Target target) const {
    return layout_.find(layer, target);
}

// z = A · x, y += scale · B · z
void GpuPass::update(GpuRecorder& program, uint32_t layer, lora::Target target, bool dropout, Binding x, Place y) {
    const Slot* slot = slot_of(layer, target);
    if (slot == nullptr) return;
    const GpuNumbers& numbers = numbers_[layer];
    const auto rank = uint32_t(slot->shape.rank);
    const auto in = uint32_t(slot->shape.in);
    const uint32_t part = infer::sum_part(in);
    const Binding z = tape(layer).z[size_t(target)];
    const auto number = uint32_t(slot - layout_.slots().data());
    gemm(program,
         {.m = tokens(),
          .n = rank,
          .k = part,
          .token_m = 0,
          .all_k = in,
          .p_m = in,
          .p_batch = part,
          .q_at = uint32_t(slot->a - numbers.begin),
          .q_n = in,
          .q_batch = part,
          .c_m = rank,
          .c_n = 1,
          .c_batch = tokens() * rank,
          .update = number,
          .columns = in},
         x, numbers.values, s_.parts, false, infer::kSumParts, dropout ? 1 : 0);
    sum_parts(program, rank, z);
    return gemm(program,
                {.m = uint32_t(slot->shape.out),
                 .n = tokens(),
                 .k = rank,
                 .token_n = 0,
                 .p_at = uint32_t(slot->b - numbers.begin),
                 .p_m = rank,
                 .q_n = rank,
                 .c_at = uint32_t(y.offset),
                 .c_n = uint32_t(y.stride),
                 .keep = 1,
                 .factor = slot->shape.scale},
                numbers.values, z, y.buffer, true);
}

// With g = scale · Bᵀ·dy: dB += scale · dy · zᵀ, dA += g · xᵀ, dx += Aᵀ · g
void GpuPass::update_back(GpuRecorder& program, uint32_t layer, lora::Target target, bool dropout, Binding x, Place dy,
                          Binding dx) {
    const Slot* slot = slot_of(layer, target);
    if (slot == nullptr) return;
    const GpuNumbers& numbers = numbers_[layer];
    const auto rank = uint32_t(slot->shape.rank);
    const auto in = uint32_t(slot->shape.in);
    const auto out = uint32_t(slot->shape.out);
    const auto a = uint32_t(slot->a - numbers.begin);
    const auto b = uint32_t(slot->b - numbers.begin);
    const auto stride = uint32_t(dy.stride);
    const auto offset = uint32_t(dy.offset);
    const uint32_t part = infer::sum_part(out);
    const auto number = uint32_t(slot - layout_.slots().data());
    gemm(program,
         {.m = tokens(),
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
          .c_batch = tokens() * rank,
          .factor = slot->shape.scale},
         dy.buffer, numbers.values, s_.parts, false, infer::kSumParts);
    sum_parts(program, rank, s_.gz);
    gemm(program,
         {.m = out,
          .n = rank,
          .k = tokens(),
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
         dy.buffer, tape(layer).z[size_t(target)], numbers.gradients, false);
    gemm(program,
         {.m = in,
          .n = rank,
          .k = tokens(),
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
         x, s_.gz, numbers.gradients, false, 1, dropout ? 2 : 0);
    return gemm(program,
                {.m = in,
                 .n = tokens(),
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
                numbers.values, s_.gz, dx, true, 1, dropout ? 3 : 0);
}

void GpuPass::norm(GpuRecorder& program, Norm n, Binding step) {
    n.weights.push_back(n.scale);
    const Binding weights = program.keep(resources_.floats(n.weights, "norm"));
    const bool add = n.base.buffer != 0;
    return program.add(
        kernels::kNorm,
        {{"kN", double(config().width)}, {"kAdd", add ? 1.0 : 0.0}, {"kEps", double(config().norm_epsilon)}},
        {step, add ? n.base : step, n.x, weights, n.y}, {tokens(), 1, 1});
}

void GpuPass::norm_back(GpuRecorder& program, Norm n, bool add, Binding step) {
    n.weights.push_back(n.scale);
    const Binding weights = program.keep(resources_.floats(n.weights, "norm"));
    return program.add(
        kernels::kNormBack,
        {{"kN", double(config().width)}, {"kAdd", add ? 1.0 : 0.0}, {"kEps", double(config().norm_epsilon)}},
        {step, n.x, weights, n.base, n.y}, {tokens(), 1, 1});
}

void GpuPass::gate(GpuRecorder& program, uint64_t n, Binding g, Binding y, uint64_t rows, Binding step) {
    return program.add(kernels::kGate, {{"kN", double(n)}}, {step, g, step, y}, {ceil_div(n, 64), uint32_t(rows), 1});
}

void GpuPass::gate_back(GpuRecorder& program, uint64_t n, Binding dy, Binding g, uint64_t rows, Binding step) {
    return program.add(kernels::kGateBack, {{"kN", double(n)}}, {step, dy, step, g},
                       {ceil_div(n, 64), uint32_t(rows), 1});
}

}  // namespace lapidary::train
