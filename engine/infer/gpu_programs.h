// The programs of a session: recorded when first wanted, for each size of a block of tokens, and replayed from then on. Holds
// what they work on.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "infer/canvas_tensors.h"
#include "infer/gpu_adapters.h"
#include "infer/gpu_model.h"
#include "infer/gpu_sampler.h"
#include "infer/gpu_state.h"
#include "infer/session_tensors.h"
#include "infer/transformer_layer.h"
#include "model/runner.h"

namespace lapidary::infer {

class GpuOps;

struct GpuOptions {
    uint32_t context = 4096;
    KvFormat kv = kDefaultKvFormat;
    // Tokens that go through the layers together here: a driver ends what keeps a slow GPU busy for seconds, and a smaller
    // block is done sooner.
    uint32_t block = kMaxBlock;
    // Else every scratch tensor has a buffer of its own, to see that sharing changes nothing.
    bool shares_scratch = true;
};

// Whether the kernels of attention can keep such heads.
Status check_heads(const model::Config& config, KvFormat kv);

class GpuPrograms {
  public:
    static constexpr std::array<uint32_t, 4> kBlocks = {1, 16, 128, kMaxBlock};

    static Task<Result<std::unique_ptr<GpuPrograms>>> create(std::shared_ptr<GpuModel> model, GpuOptions options,
                                                             Cancel cancel);

    [[nodiscard]] gpu::Device& device() const { return resources_.device(); }
    [[nodiscard]] const model::Config& config() const { return model_->config(); }
    [[nodiscard]] const GpuOptions& options() const { return options_; }
    [[nodiscard]] const SessionTensors& tensors() const { return t_; }
    [[nodiscard]] uint64_t bytes() const;
    // Where keys and values are.
    [[nodiscard]] std::vector<CacheRegion> cache_regions() const;

    // The adapters of everything recorded and run from now on; sets that were used lately are still there.
    Status use_adapters(std::span<const lora::Active> active);

    // What the next run works on.
    void write_tokens(std::span<const int32_t> tokens);
    // Where a table is not on the GPU, the rows of these tokens; otherwise nothing. Before every run.
    Task<Status> write_rows(std::span<const int32_t> tokens, Cancel cancel);
    // Whether the next step needs to know its token here first.
    [[nodiscard]] bool needs_rows() const { return model_->per_layer_rows != nullptr; }
    void write_step(uint32_t position, uint32_t tokens);

    Task<Result<gpu::Id>> layers(uint32_t block, Depth depth, Cancel cancel);
    // The same of rows that are no tokens: those of write_soft.
    Task<Result<gpu::Id>> soft_layers(uint32_t block, Depth depth, Sight sight, Cancel cancel);
    // What that works on; before it is recorded.
    Status write_soft(std::span<const float> rows, Sight sight, uint32_t block, uint32_t position);
    // logits[0 …] = head of the block's rows [first_row, first_row + rows)
    Task<Result<gpu::Id>> head(uint32_t first_row, uint32_t rows, Cancel cancel);
    // The next token, chosen from the logits.
    Task<Result<gpu::Id>> choice(SampleMode mode, Cancel cancel);
    // One token through everything, and the next one chosen.
    Task<Result<gpu::Id>> decode(SampleMode mode, Cancel cancel);
    // A step of a canvas (gpu_canvas.cpp), whose tensors are there if the model writes by canvases.
    Task<Result<gpu::Id>> canvas_step(bool conditioned, Cancel cancel);
    // What that recorded for one that is conditioned on another; empty before.
    [[nodiscard]] const std::vector<kernels::Program::Labelled>& canvas_commands() const { return canvas_commands_; }
    [[nodiscard]] const CanvasTensors* canvas_tensors() const { return canvas_ ? &*canvas_ : nullptr; }
    // What decode recorded for the most likely token; empty before.
    [[nodiscard]] const std::vector<kernels::Program::Labelled>& greedy_commands() const { return greedy_commands_; }

  private:
    GpuPrograms(std::shared_ptr<GpuModel> model, GpuOptions options);
    kernels::Program begin(Cancel cancel);
    void record_layers(kernels::Program& program, uint32_t block, Depth depth);
    void record_soft_layers(kernels::Program& program, uint32_t block, Depth depth, Sight sight);
    [[nodiscard]] LayerSource layer_source() const;
    // The verbs of a layer for blocks of so many tokens.
    std::unique_ptr<GpuOps> ops_for(kernels::Program& program, uint32_t block);
    void record_canvas_step(kernels::Program& program, bool conditioned);
    // Rows of the normed stream, where a binding can begin.
    gpu::Tensor normed_rows(kernels::Program& program, uint32_t first, uint32_t count);
    void record_head(kernels::Program& program, gpu::Tensor x, uint32_t rows);

    std::shared_ptr<GpuModel> model_;
    GpuOptions options_;
    kernels::Resources resources_;
    SessionTensors t_;
    // Of images and sounds, once there is one: [512, d], and [512] of (position, first key, end of keys, sequence).
    gpu::Tensor soft_ = {}, seen_sliding_ = {}, seen_full_ = {};
    std::optional<CanvasTensors> canvas_;
    std::vector<kernels::Program::Labelled> canvas_commands_;
    ProgramsByKey programs_;
    std::map<SampleMode, gpu::Id> choices_;
    std::vector<kernels::Program::Labelled> greedy_commands_;
    static constexpr size_t kAdapterSets = 4;
    std::vector<std::unique_ptr<GpuAdapters>> adapter_sets_;  // the one used last is the last
    GpuAdapters* adapters_ = nullptr;                         // those in use
};

}  // namespace lapidary::infer
