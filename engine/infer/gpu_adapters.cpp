#include "infer/gpu_adapters.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "kernels/train/copy_rows.h"
#include "model/memory.h"

namespace lapidary::infer {

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
    : active_(active.begin(), active.end()), resources_(device, variant) {}

Result<std::unique_ptr<GpuAdapters>> GpuAdapters::create(const GpuModel& model, std::span<const lora::Active> active,
                                                         kernels::Variant variant) {
    std::unique_ptr<GpuAdapters> out(new GpuAdapters(model.device(), active, variant));
    const auto layers = uint32_t(model.config().layers.size());
    for (uint32_t layer = 0; layer < layers; ++layer) {
        const model::LayerConfig& shape = model.config().layers[layer];
        TRY(out->upload(model, {layer, Linear::qkv},
                        {{Target::q}, {Target::k, shape.q_width()}, {Target::v, shape.q_width() + shape.kv_width()}}));
        TRY(out->upload(model, {layer, Linear::o}, {{Target::o}}));
        TRY(out->upload(model, {layer, Linear::gate_up}, {{Target::gate}, {Target::up, shape.ffn}}));
        TRY(out->upload(model, {layer, Linear::down}, {{Target::down}}));
        TRY(out->upload(model, {layer, Linear::inp_gate}, {{Target::inp_gate}}));
        TRY(out->upload(model, {layer, Linear::proj}, {{Target::proj}}));
    }
    TRY(out->upload(model, {0, Linear::token_embd}, {{Target::token_embd}}));
    TRY(out->upload(model, {0, Linear::output}, {{Target::output}}));
    return out;
}

Status GpuAdapters::upload(const GpuModel& model, LinearOf which, std::initializer_list<Part> parts) {
    Updates updates;
    std::vector<float> a;
    for (const auto& [target, y_offset] : parts) {
        Term term{.at = updates.rank, .y_offset = y_offset};
        for (const lora::Active& one : active_) {
            const lora::Update* update = find(*one.adapter, which.layer, target);
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
            const lora::Update* update = find(*one.adapter, which.layer, target);
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
                        lora::label_of(which.layer, target), format_bytes(most));
        }
        term.b = gpu::rows_in(TRY(resources_.floats(b, "adapter B")), term.out, term.rank);
        updates.rank += term.rank;
        updates.terms.push_back(term);
    }
    if (updates.rank == 0) return {};
    if (which.which == Linear::token_embd) {
        // Its columns are looked up: they become rows.
        std::vector<float> transposed(a.size());
        for (size_t r = 0; r < updates.rank; ++r) {
            for (size_t i = 0; i < updates.in; ++i) transposed[i * updates.rank + r] = a[r * updates.in + i];
        }
        a = std::move(transposed);
    }
    updates.a = gpu::rows_in(TRY(resources_.floats(a, "adapter A")), updates.rank, updates.in);
    updates_.emplace(std::pair(which.layer, which.which), std::move(updates));
    return {};
}

const GpuAdapters::Updates& GpuAdapters::updates(LinearOf which) const {
    static const Updates kNone;
    const auto it = updates_.find(std::pair(which.layer, which.which));
    return it == updates_.end() ? kNone : it->second;
}

void GpuAdapters::add_terms(kernels::Program& program, const Updates& updates, gpu::Tensor z, gpu::Tensor y,
                            float factor, uint32_t rows) {
    constexpr uint32_t kThin = 16;  // rows that a narrow tile does for
    for (const Term& term : updates.terms) {
        program.add(kernels::BatchedGemm{.shape = {.m = term.out,
                                                   .n = rows,
                                                   .k = term.rank,
                                                   .token_n = 0,
                                                   .p_m = term.rank,
                                                   .q_at = term.at,
                                                   .q_n = updates.rank,
                                                   .c_at = term.y_offset,
                                                   .c_n = y.stride,
                                                   .keep = 1,
                                                   .factor = factor},
                                         .p = term.b,
                                         .q = z,
                                         .c = y,
                                         .wide = rows > kThin});
    }
}

void GpuAdapters::add(kernels::Program& program, LinearOf which, gpu::Tensor x, gpu::Tensor y, uint32_t rows) {
    const Updates& u = updates(which);
    if (u.rank == 0) return;
    const uint32_t part = kernels::partial_columns(u.in);
    const gpu::Tensor partials = program.scratch("partial sums of z", kernels::kPartialSums, uint64_t{rows} * u.rank);
    const gpu::Tensor z = program.scratch("z", rows, u.rank);
    program.add(kernels::BatchedGemm{.shape = {.m = rows,
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
                                               .c_batch = rows * u.rank},
                                     .p = x,
                                     .q = u.a,
                                     .c = partials,
                                     .wide = false,
                                     .batches = kernels::kPartialSums});
    program.add(kernels::SumPartials{.partials = partials, .y = z, .width = u.rank, .rows = rows});
    add_terms(program, u, z, y, 1, rows);
}

void GpuAdapters::add_embedding(kernels::Program& program, gpu::Tensor ids, float factor, gpu::Tensor h,
                                uint32_t rows) {
    const Updates& u = updates({0, Linear::token_embd});
    if (u.rank == 0) return;
    const gpu::Tensor z = program.scratch("z", rows, u.rank);
    program.add(kernels::CopyRows{.rows = ids, .x = u.a, .y = z, .cols = u.rank, .count = rows});
    add_terms(program, u, z, h, factor, rows);
}

void enable_gpu_adapters() {
    make_gpu_adapters = &GpuAdapters::create;
}

}  // namespace lapidary::infer
