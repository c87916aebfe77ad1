// A set of adapters on the GPU, with their scales: the ranks of all that update the same matrix lie side by side, so that
// a set costs as many dispatches as one of them. Holds the programs that were recorded with it.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <vector>

#include "infer/gpu_model.h"
#include "infer/gpu_recorder.h"
#include "infer/gpu_words.h"
#include "lora/adapter.h"

namespace lapidary::infer {

class GpuAdapters {
  public:
    // Updates whose A sees the same input.
    enum class Group : uint8_t { qkv, o, gate_up, down, inp_gate, proj, token_embd, output };
    struct Term {
        lora::Target target = lora::Target::q;
        uint32_t out = 0;
        uint32_t rank = 0;  // of all adapters together
        uint32_t at = 0;    // its first column of z
        gpu::Binding b;     // [out, rank], with the scales
    };
    struct Updates {
        uint32_t in = 0;
        uint32_t rank = 0;  // of all terms together
        gpu::Binding a;     // [rank, in]; of token_embd [in, rank]
        std::vector<Term> terms;
    };

    static Result<std::unique_ptr<GpuAdapters>> create(const GpuModel& model, std::span<const lora::Active> active,
                                                       kernels::Variant variant, uint32_t block);
    virtual ~GpuAdapters() = default;
    GpuAdapters(const GpuAdapters&) = delete;
    GpuAdapters& operator=(const GpuAdapters&) = delete;

    [[nodiscard]] const std::vector<lora::Active>& active() const { return active_; }
    // Empty where nothing is updated.
    [[nodiscard]] const Updates& updates(uint32_t layer, Group group) const;

    // Where an update's result goes: the rows of y, and where in a row the target's part begins.
    struct Place {
        gpu::Binding y;
        uint64_t stride = 0;
        uint64_t q = 0, k = 0, v = 0, up = 0;  // 0 for all others
    };
    // y += B · (A · x) for every update of the group. x: [block, in]
    virtual void add(GpuRecorder& program, gpu::Binding step, uint32_t layer, Group group, gpu::Binding x, Place place,
                     uint32_t block);
    // h += factor · B · A[:, ids], of the embedding.
    virtual void add_embedding(GpuRecorder& program, gpu::Binding step, gpu::Binding ids, float factor, gpu::Binding h,
                               uint32_t width, uint32_t block);

    [[nodiscard]] GpuResources& resources() { return resources_; }

    // Where a product finished in one go before, something comes between now: gate and up, the per-layer gate.
    gpu::Binding gate_up, gated;
    std::map<std::pair<uint32_t, uint8_t>, gpu::Id> layers_programs;
    std::map<std::pair<uint32_t, uint32_t>, gpu::Id> head_programs;
    std::map<uint8_t, gpu::Id> decode_programs;

  private:
    GpuAdapters(gpu::Device& device, std::span<const lora::Active> active, kernels::Variant variant);
    Status upload(const GpuModel& model, uint32_t layer, Group group, std::initializer_list<lora::Target> targets);
    void add_terms(GpuRecorder& program, gpu::Binding step, const Updates& updates, Place place, float factor,
                   uint32_t block);
    void gemm(GpuRecorder& program, gpu::Binding step, kernels::GemmShape shape, gpu::Binding p, gpu::Binding q,
              gpu::Binding c, bool wide, uint32_t batches);

    std::vector<lora::Active> active_;
    GpuResources resources_;
    GpuWords words_;
    std::map<std::pair<uint32_t, Group>, Updates> updates_;
    gpu::Binding parts_, z_;
    uint32_t most_rank_ = 0;
};

// Makes sets, where there are adapters at all: whoever loads the first one says so. An engine that cannot load any need
// not have the code, which is why nothing else may name `create`.
inline decltype(&GpuAdapters::create) make_gpu_adapters = nullptr;

}  // namespace lapidary::infer
