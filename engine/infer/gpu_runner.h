// The forward pass on the GPU. Programs are recorded once for a few block sizes and replayed; the tokens, the position
// and the KV cache are the only things that change.
#pragma once

#include <array>
#include <map>
#include <memory>

#include "infer/gpu_model.h"
#include "infer/gpu_recorder.h"
#include "model/runner.h"

namespace lapidary::infer {

struct GpuOptions {
    uint32_t context = 4096;
    bool kv_f16 = true;
};

class GpuRunner final : public Runner {
  public:
    static Task<Result<std::unique_ptr<GpuRunner>>> create(std::shared_ptr<GpuModel> model, GpuOptions options,
                                                           Cancel cancel);

    [[nodiscard]] uint32_t vocabulary() const override { return model_->config().vocabulary; }
    [[nodiscard]] uint32_t context() const override { return options_.context; }
    [[nodiscard]] uint32_t position() const override { return position_; }
    void truncate(uint32_t length) override;
    Task<Result<std::vector<float>>> run(std::span<const int32_t> tokens, LogitsWanted wanted,
                                         Breathe breathe) override;

    // Greedy continuation that never leaves the GPU: `count` steps after `token`, read back at the end.
    Task<Result<std::vector<int32_t>>> decode_greedy(int32_t token, uint32_t count, Cancel cancel);

    // GPU milliseconds of a decoded token, the mean of `repeat` steps from where we are.
    Task<Result<double>> time_decode(uint32_t repeat, Cancel cancel);
    // GPU milliseconds of a decoded token by kernel and size, each measured by itself.
    struct KernelTime {
        std::string label;
        uint32_t dispatches = 0;
        double ms = 0;
    };
    Task<Result<std::vector<KernelTime>>> profile_decode(Cancel cancel);
    // Of a decoded token, once one was.
    [[nodiscard]] size_t decode_dispatches() const { return greedy_commands_.size(); }
    [[nodiscard]] uint64_t bytes() const { return resources_.bytes(); }

  private:
    // Tokens that go through the layers together, at most.
    static constexpr uint32_t kMaxBlock = 512;
    static constexpr std::array<uint32_t, 4> kBlocks = {1, 16, 128, kMaxBlock};
    static constexpr uint32_t kLogitRows = 16;
    static constexpr uint32_t kSplits = 8;  // of attention when there is one token
    static constexpr uint32_t kArgmaxParts = 64;

    // How far tokens go: through all layers, or until everything later tokens will read is in the caches.
    enum class Depth : uint8_t { all, caches };

    struct Program {
        gpu::Id id = 0;
        size_t dispatches = 0;
    };
    struct LayerCache {
        gpu::Binding k, v;
        uint32_t ring = 0;
    };
    // Activations, one row a token.
    struct Activations {
        gpu::Binding step, ids, h, xn, qkv, attended, parts, o, ff, router_in, router_logits, expert_ids, shares,
            expert_ff, expert_out, experts, context, token_inputs, inputs, gate, logits, best, history, spare;
    };

    GpuRunner(std::shared_ptr<GpuModel> model, GpuOptions options);
    Status allocate();
    Status allocate_caches();
    // Recorded when first wanted: pipelines take seconds on some drivers.
    Task<Result<Program>> program_for(uint32_t block, Depth depth, Cancel cancel);
    Task<Status> record_layers(GpuRecorder& program, uint32_t block, Depth depth);
    Task<Status> record_inputs(GpuRecorder& program, uint32_t block);
    Task<Status> record_layer(GpuRecorder& program, uint32_t layer, uint32_t block);
    [[nodiscard]] uint64_t qkv_stride(uint32_t layer) const;
    Task<Status> record_projections(GpuRecorder& program, uint32_t layer, uint32_t block);
    Task<Status> record_attention(GpuRecorder& program, uint32_t layer, uint32_t block);
    Task<Status> record_ffn(GpuRecorder& program, uint32_t layer, uint32_t block);
    Task<Status> record_experts(GpuRecorder& program, uint32_t layer, uint32_t block);
    Task<Result<gpu::Id>> head_program(uint32_t first_row, uint32_t rows, Cancel cancel);
    Task<Result<gpu::Id>> greedy_program(Cancel cancel);

    // How a matrix product finishes; the numbers of matvec.wgsl.
    enum class Finish : uint8_t { plain = 0, gelu_gate = 1, gelu_times_aux = 2, softcap = 3 };
    struct Product {
        const GpuMatrix* matrix = nullptr;
        gpu::Binding x, y;
        Finish finish = Finish::plain;
        uint64_t out_rows = 0;  // 0: the matrix's own
        uint64_t y_stride = 0;
        uint64_t y_offset = 0;
        gpu::Binding aux = {};
        uint64_t aux_stride = 0;
        uint64_t aux_offset = 0;
        uint32_t experts = 0;  // slots a token; aux holds the expert of each
        bool x_per_slot = false;
    };
    Task<Status> product(GpuRecorder& program, Product p, uint32_t block);
    struct Seam {
        gpu::Binding x = {};  // empty: nothing is added
        gpu::Binding x2 = {};
        std::vector<float> weights = {};  // as residual_norm.wgsl wants them, without the scale
        float scale = 1;
        gpu::Binding y = {};  // empty: no norm follows
        float next_scale = 1;
    };
    Task<Status> seam(GpuRecorder& program, Seam s, uint32_t block);
    void write_step(uint32_t position, uint32_t tokens);

    std::shared_ptr<GpuModel> model_;
    GpuOptions options_;
    GpuResources resources_;
    Activations a_;
    std::vector<LayerCache> caches_;
    gpu::Binding rates_full_, rates_sliding_;
    std::vector<gpu::Binding> head_norms_;
    std::map<std::pair<uint32_t, Depth>, Program> programs_;          // by block size and depth
    std::map<std::pair<uint32_t, uint32_t>, gpu::Id> head_programs_;  // by first row and rows
    gpu::Id greedy_ = 0;
    std::vector<GpuRecorder::Labelled> greedy_commands_;
    uint32_t position_ = 0;
    uint32_t furthest_ = 0;  // the highest position ever written since the last reset
};

}  // namespace lapidary::infer
