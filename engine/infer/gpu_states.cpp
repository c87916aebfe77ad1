#include "infer/gpu_states.h"

#include <algorithm>
#include <cstring>

#include "infer/embedding.h"
#include "infer/gpu_ops.h"
#include "infer/gpu_programs.h"
#include "kernels/train/copy_rows.h"

namespace lapidary::infer {
namespace {

template <class T>
void write_words(gpu::Device& device, const gpu::Tensor& to, const std::vector<T>& words) {
    device.write(to.at.buffer, 0, {reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(T)});
}

// As GpuPrograms has it, but that each layer's stream is kept: row `last` of it.
void record_states(kernels::Program& program, const GpuModel& model, const SessionTensors& t, uint32_t block,
                   uint32_t last, std::span<const gpu::Tensor> states) {
    const model::Config& config = model.config();
    const LayerSource source{.config = config, .table = model.table(), .vector = [&](const model::Weight& weight) {
                                 return model.vector(weight);
                             }};
    GpuOps ops(program, model, t, kMaxBlock, block, nullptr);
    const Embedded embedded = embed(program, ops, model, t, block, nullptr);
    Residual h = ops.begin(embedded.h, embedded.inputs);
    const auto keep = [&](gpu::Tensor x, const gpu::Tensor& y) {
        program.add(kernels::CopyRows{.x = x, .y = y, .cols = config.width, .count = 1, .known_rows = {last}});
    };
    const Pass pass{.kv = t.kv, .context = kMaxBlock};
    for (uint32_t i = 0; i < config.layers.size(); ++i) {
        keep(h.make(h.plain()), states[i]);
        TransformerLayer(source, i).run(ops, h, pass);
    }
    keep(h.make(h.normed(model.vector(model.table().output_norm))), states[config.layers.size()]);
}

}  // namespace

Task<Result<std::vector<float>>> layer_states(std::shared_ptr<GpuModel> model, std::vector<int32_t> tokens,
                                              Cancel cancel) {
    const model::Config& config = model->config();
    const auto count = uint32_t(tokens.size());
    if (count == 0 || count > kMaxBlock) {
        co_return fail(Code::limit, "states are told of 1 to {} tokens, not of {}", kMaxBlock, count);
    }
    kernels::Variant variant = model->choice().variant;
    variant.kv = KvFormat::f32;
    CO_TRY(check_heads(config, variant.kv));
    gpu::Device& device = model->device();
    kernels::Resources resources(device, variant, model->choice().compute_units);
    const SessionTensors t = CO_TRY(SessionTensors::create(resources, *model, kMaxBlock));
    const uint64_t bytes = config.width * sizeof(float);
    std::vector<gpu::Tensor> states;
    for (size_t i = 0; i <= config.layers.size(); ++i) {
        states.push_back({.at = CO_TRY(resources.buffer(bytes, "state"))});
    }
    // Of one token a block has several rows too: each verb is a dispatch of its own then.
    const uint32_t block =
        *std::ranges::find_if(GpuPrograms::kBlocks, [&](uint32_t size) { return size > 1 && size >= count; });
    kernels::Program program(resources, t.step, cancel);
    record_states(program, *model, t, block, count - 1, states);
    const gpu::Id id = CO_TRY(co_await program.compile());
    if (model->per_layer_rows != nullptr) {
        const Bytes rows = CO_TRY(co_await model->per_layer_rows->rows(tokens, cancel));
        device.write(t.table_rows.at.buffer, 0, rows);
    }
    write_words(device, t.ids, tokens);
    write_words<uint32_t>(device, t.step, {0, count, 0, 0});
    device.run(id);
    std::vector<float> out(states.size() * config.width);
    for (size_t i = 0; i < states.size(); ++i) {
        const auto state = CO_TRY(co_await device.read(states[i].at.buffer, 0, bytes, cancel));
        std::memcpy(out.data() + i * config.width, state.data(), bytes);
    }
    co_return out;
}

}  // namespace lapidary::infer
