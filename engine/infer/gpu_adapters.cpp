#include "infer/gpu_adapters.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "model/memory.h"

namespace lapidary::infer {

using kernels::GemmShape;
using lora::Target;

namespace {

const lora::Update* find(const lora::Adapter& adapter, uint32_t layer, Target target) {
    const auto it = std::ranges::find_if(adapter.updates, [&](const lora::Update& update) {
        return update.target == target && (!lora::in_layer(target) || update.layer == layer);
    });
    return it == adapter.updates.end() ? nullptr : &*it;
}

}  // namespace

GpuAdapters::GpuAdapters(gpu::Device& device, std::span<const lora::Active> active, kernels::Variant variant)
    : active_(active.begin(), active.end()), resources_(device, variant), words_(resources_) {}

Result<std::unique_ptr<GpuAdapters>> GpuAdapters::create(const GpuModel& model, std::span<const lora::Active> active,
                                                         kernels::Variant variant, uint32_t block) {
    std::unique_ptr<GpuAdapters> out(new GpuAdapters(model.device(), active, variant));
    const auto layers = uint32_t(model.config().layers.size());
    uint64_t ffn = 0;
    for (uint32_t layer = 0; layer < layers; ++layer) {
        ffn = std::max<uint64_t>(ffn, model.config().layers[layer].ffn);
        TRY(out->upload(model, layer, Group::qkv, {Target::q, Target::k, Target::v}));
        TRY(out->upload(model, layer, Group::o, {Target::o}));
        TRY(out->upload(model, layer, Group::gate_up, {Target::gate, Target::up}));
        TRY(out->upload(model, layer, Group::down, {Target::down}));
        TRY(out->upload(model, layer, Group::inp_gate, {Target::inp_gate}));
        TRY(out->upload(model, layer, Group::proj, {Target::proj}));
    }
    TRY(out->upload(model, 0, Group::token_embd, {Target::token_embd}));
    TRY(out->upload(model, 0, Group::output, {Target::output}));
    const uint64_t rows = uint64_t(block) * sizeof(float);
    out->z_ = TRY(out->resources_.buffer(rows * out->most_rank_, "z"));
    out->parts_ = TRY(out->resources_.buffer(rows * out->most_rank_ * kSumParts, "parts of z"));
    const auto has = [&](Group group) {
        return std::ranges::any_of(out->updates_, [&](const auto& item) { return item.first.second == group; });
    };
    if (has(Group::gate_up)) out->gate_up = TRY(out->resources_.buffer(rows * 2 * ffn, "gate and up"));
    if (has(Group::inp_gate)) {
        out->gated = TRY(out->resources_.buffer(rows * model.config().per_layer_width, "per-layer gated"));
    }
    return out;
}

Status GpuAdapters::upload(const GpuModel& model, uint32_t layer, Group group, std::initializer_list<Target> targets) {
    Updates updates;
    std::vector<float> a;
    for (const Target target : targets) {
        Term term{.target = target, .at = updates.rank};
        for (const lora::Active& one : active_) {
            const lora::Update* update = find(*one.adapter, layer, target);
            if (update == nullptr) continue;
            a.insert(a.end(), update->a.begin(), update->a.end());
            term.rank += update->rank;
            term.out = update->out;
            updates.in = update->in;
        }
        if (term.rank == 0) continue;
        std::vector<float> b(size_t(term.out) * term.rank);
        uint32_t column = 0;
        for (const lora::Active& one : active_) {
            const lora::Update* update = find(*one.adapter, layer, target);
            if (update == nullptr) continue;
            const float scale = update->scale * one.scale;
            for (size_t i = 0; i < update->b.size(); ++i) {
                b[i / update->rank * term.rank + column + i % update->rank] = scale * update->b[i];
            }
            column += update->rank;
        }
        const uint64_t most = model.device().info().max_binding_bytes;
        if (std::max(a.size(), b.size()) * sizeof(float) > most) {
            return fail(Code::out_of_memory, "an adapter's update of '{}' is larger than the {} this GPU binds at once",
                        lora::label_of(layer, target), format_bytes(most));
        }
        term.b = TRY(resources_.floats(b, "adapter B"));
        updates.rank += term.rank;
        updates.terms.push_back(term);
    }
    if (updates.rank == 0) return {};
    if (group == Group::token_embd) {
        // Its columns are looked up: they become rows.
        std::vector<float> turned(a.size());
        for (size_t r = 0; r < updates.rank; ++r) {
            for (size_t i = 0; i < updates.in; ++i) turned[i * updates.rank + r] = a[r * updates.in + i];
        }
        a = std::move(turned);
    }
    updates.a = TRY(resources_.floats(a, "adapter A"));
    most_rank_ = std::max(most_rank_, updates.rank);
    updates_.emplace(std::pair(layer, group), std::move(updates));
    return {};
}

const GpuAdapters::Updates& GpuAdapters::updates(uint32_t layer, Group group) const {
    static const Updates kNone;
    const auto it = updates_.find(std::pair(layer, group));
    return it == updates_.end() ? kNone : it->second;
}

void GpuAdapters::gemm(GpuRecorder& program, gpu::Binding step, GemmShape shape, gpu::Binding p, gpu::Binding q,
                       gpu::Binding c, bool wide, uint32_t batches) {
    const gpu::Binding about = program.keep(words_.put_shape(shape));
    return program.add(kernels::kGemm, {{"kWide", wide ? 1.0 : 0.0}}, {step, about, p, q, step, c},
                       {ceil_div(shape.m, 64), ceil_div(shape.n, wide ? 64 : 16), batches});
}

void GpuAdapters::add_terms(GpuRecorder& program, gpu::Binding step, const Updates& updates, Place place, float factor,
                            uint32_t block) {
    for (const Term& term : updates.terms) {
        const uint64_t offset = term.target == Target::q    ? place.q
                                : term.target == Target::k  ? place.k
                                : term.target == Target::v  ? place.v
                                : term.target == Target::up ? place.up
                                                            : 0;
        gemm(program, step,
             {.m = term.out,
              .n = block,
              .k = term.rank,
              .token_n = 0,
              .p_m = term.rank,
              .q_at = term.at,
              .q_n = updates.rank,
              .c_at = uint32_t(offset),
              .c_n = uint32_t(place.stride),
              .keep = 1,
              .factor = factor},
             term.b, z_, place.y, block > 16, 1);
    }
}

void GpuAdapters::add(GpuRecorder& program, gpu::Binding step, uint32_t layer, Group group, gpu::Binding x, Place place,
                      uint32_t block) {
    const Updates& u = updates(layer, group);
    if (u.rank == 0) return;
    const uint32_t part = sum_part(u.in);
    gemm(program, step,
         {.m = block,
          .n = u.rank,
          .k = part,
          .token_m = 0,
          .all_k = u.in,
          .p_m = u.in,
          .p_batch = part,
          .q_n = u.in,
          .q_batch = part,
          .c_m = u.rank,
          .c_n = 1,
          .c_batch = block * u.rank},
         x, u.a, parts_, false, kSumParts);
    const gpu::Binding size = program.keep(words_.put(std::array<uint32_t, 4>{u.rank, kSumParts, block * u.rank, 0}));
    program.add(kernels::kSumParts, {}, {step, size, parts_, z_}, {ceil_div(uint64_t(block) * u.rank, 64), 1, 1});
    return add_terms(program, step, u, place, 1, block);
}

void GpuAdapters::add_embedding(GpuRecorder& program, gpu::Binding step, gpu::Binding ids, float factor, gpu::Binding h,
                                uint32_t width, uint32_t block) {
    const Updates& u = updates(0, Group::token_embd);
    if (u.rank == 0) return;
    program.add(kernels::kTakeRows, {{"kN", double(u.rank)}}, {step, ids, u.a, z_}, {ceil_div(u.rank, 64), block, 1});
    return add_terms(program, step, u, {.y = h, .stride = width}, factor, block);
}

}  // namespace lapidary::infer
