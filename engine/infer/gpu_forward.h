// The forward pass as programs: recorded once for each block size, replayed for every block of tokens. Holds what they
// work on: activations, caches, the step.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "infer/gpu_adapters.h"
#include "infer/gpu_division.h"
#include "infer/gpu_model.h"
#include "infer/gpu_recorder.h"
#include "infer/gpu_rope.h"
#include "infer/gpu_state.h"
#include "sample/sampler.h"

namespace lapidary::infer {

// Tokens that go through the layers together, at most.
inline constexpr uint32_t kMostTogether = 512;

struct GpuOptions {
    uint32_t context = 4096;
    KvFormat kv = kDefaultKvFormat;
    // Tokens that go through the layers together here: a driver ends what keeps a slow GPU busy for seconds, and a smaller
    // block is done sooner.
    uint32_t block = kMostTogether;
};

class GpuForward {
  public:
    static constexpr uint32_t kMaxBlock = kMostTogether;
    static constexpr std::array<uint32_t, 4> kBlocks = {1, 16, 128, kMaxBlock};
    // Rows of logits computed together, at most.
    static constexpr uint32_t kLogitRows = 16;

    // How far tokens go: through all layers, or until everything later tokens will read is in the caches.
    enum class Depth : uint8_t { all, caches };

    static Task<Result<std::unique_ptr<GpuForward>>> create(std::shared_ptr<GpuModel> model, GpuOptions options,
                                                            Cancel cancel);

    [[nodiscard]] gpu::Device& device() const { return resources_.device(); }
    [[nodiscard]] const model::Config& config() const { return model_->config(); }
    [[nodiscard]] const GpuOptions& options() const { return options_; }
    [[nodiscard]] uint64_t bytes() const;
    [[nodiscard]] gpu::Binding logits() const { return a_.logits; }
    [[nodiscard]] gpu::Binding history() const { return a_.history; }

    // Of the last block, after the final norm. [tokens, width]
    [[nodiscard]] gpu::Binding hidden() const { return a_.xn; }
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

    // Programs are recorded when first wanted: pipelines take seconds on some drivers.
    Task<Result<gpu::Id>> layers_program(uint32_t block, Depth depth, Cancel cancel);
    // logits[0 …] = head of the block's rows [first_row, first_row + rows)
    Task<Result<gpu::Id>> head_program(uint32_t first_row, uint32_t rows, Cancel cancel);
    // How the next token is chosen.
    enum class Choice : uint8_t {
        none,  // the host says what comes next; for decode_program
        likeliest,
        sampled,
        limited,  // sampled among the tokens of write_mask
    };
    // The next token is chosen from the logits and becomes the input, and the step moves on.
    Task<Result<gpu::Id>> choice_program(Choice choice, Cancel cancel);
    // One token through everything, and the next one chosen.
    Task<Result<gpu::Id>> decode_program(Choice choice, Cancel cancel);
    // What decode_program recorded for the likeliest token; empty before.
    [[nodiscard]] const std::vector<GpuRecorder::Labelled>& greedy_commands() const { return greedy_commands_; }

    // For Choice::sampled and limited, as far as the kernels can do it.
    void write_sampling(const sample::Params& params);
    static bool sampling_fits(const sample::Params& params);
    void write_mask(sample::Allowed allowed);
    // The tokens at `position` and after it, for the penalties.
    void write_history(uint32_t position, std::span<const int32_t> tokens);

  private:
    static constexpr uint32_t kMostSplits = 64;  // of attention when there is one token
    static constexpr uint32_t kMostBiases = 1024;
    static constexpr uint32_t kSamplingBins = 2048;  // as sampling.wgsl has them
    static constexpr uint32_t kCandidates = 1024;

    struct LayerCache {
        gpu::Binding k, v;
        uint32_t ring = 0;
    };
    // Activations, one row a token.
    struct Activations {
        gpu::Binding step, ids, table_rows, row_ids, h, other_h, xn, planes, qkv, attended, parts, stats, o, ff,
            router_in, router_logits, expert_ids, shares, expert_ff, expert_out, experts, context, token_inputs, inputs,
            gate, logits, best, history, sampling, biases, mask, bins, candidates, spare, zeros, turns;
    };

    GpuForward(std::shared_ptr<GpuModel> model, GpuOptions options);
    Status allocate();
    Status allocate_caches();
    [[nodiscard]] uint64_t mask_words() const { return (uint64_t{config().vocabulary} + 31) / 32; }
    [[nodiscard]] uint64_t qkv_stride(uint32_t layer) const;
    [[nodiscard]] uint32_t max_splits(uint32_t layer) const;
    [[nodiscard]] gpu::Binding per_layer_inputs(uint32_t layer) const;
    [[nodiscard]] uint64_t per_layer_offset(uint32_t layer) const;
    // The layers that compute everything later tokens read; all of them with Depth::all.
    [[nodiscard]] uint32_t complete_layers(Depth depth) const;

    // How a matrix product finishes; the numbers of matvec.wgsl.
    enum class Finish : uint8_t { plain = 0, gelu_gate = 1, gelu_times_aux = 2, softcap = 3 };
    struct Product {
        const GpuMatrix* matrix = nullptr;
        const GpuMatrix* below = nullptr;  // more rows, in another format, for decoding (joins)
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
        bool planes = false;      // y as planes
        uint32_t most_parts = 1;  // rows of y whose sum may be the result

        [[nodiscard]] kernels::Formats formats() const {
            return {matrix->format, below != nullptr ? std::optional(below->format) : std::nullopt};
        }
    };
    struct Seam {
        gpu::Binding x = {};  // empty: nothing is added
        uint32_t parts = 1;   // rows that x is the sum of, of one token
        gpu::Binding x2 = {};
        std::vector<float> weights;  // as residual_norm.wgsl wants them, without the scale
        float scale = 1;
        gpu::Binding y = {};  // empty: no norm follows
        float next_scale = 1;
        bool planes = false;      // y as planes, of one token
        gpu::Binding h = {};      // empty: the block's
        gpu::Binding old_h = {};  // with `planes` h is only written, and this is what it was
    };

    // Blocks of tokens, each step a dispatch: gpu_blocks.cpp.
    void record_layers(GpuRecorder& program, uint32_t block, Depth depth);
    void record_inputs(GpuRecorder& program, uint32_t block);
    void record_layer(GpuRecorder& program, uint32_t layer, uint32_t block);
    void record_projections(GpuRecorder& program, uint32_t layer, uint32_t block);
    void record_attention(GpuRecorder& program, uint32_t layer, uint32_t block);
    void record_ffn(GpuRecorder& program, uint32_t layer, uint32_t block);
    void record_experts(GpuRecorder& program, uint32_t layer, uint32_t block, gpu::Binding h);
    void record_head(GpuRecorder& program, gpu::Binding x, uint32_t rows);
    void record_choice(GpuRecorder& program, Choice choice);
    void product(GpuRecorder& program, Product p, uint32_t block);
    // Adds what the adapters in use have for these matrices, if there are any.
    void adapt(GpuRecorder& program, uint32_t layer, GpuAdapters::Group group, gpu::Binding x, GpuAdapters::Place place,
               uint32_t block);
    [[nodiscard]] bool adapts(uint32_t layer, GpuAdapters::Group group) const {
        return adapters_ != nullptr && adapters_->updates(layer, group).rank > 0;
    }
    // Who owns what is made for programs now.
    GpuResources& keeper() { return adapters_ != nullptr ? adapters_->resources() : resources_; }
    void record_per_layer_input(GpuRecorder& program, uint32_t layer, uint32_t block);
    void seam(GpuRecorder& program, Seam s, uint32_t block);

    // One token, in as few dispatches as possible: gpu_decode.cpp.
    // The residual stream between two of them: what the last sub-layer left in `o` is still to be added.
    struct Residual {
        gpu::Binding h, other;    // products read one and write the other
        gpu::Binding delta;       // what is to be added
        uint32_t parts = 1;       // rows that it is the sum of
        std::vector<float> post;  // the norm of that; empty: nothing is
        float scale = 1;
    };
    // Where matvec gets its activations from; the numbers of matvec.wgsl.
    enum class From : uint8_t { prepared = 0, floats = 1, seam = 2, parts = 3 };
    struct Source {
        From from = From::floats;
        gpu::Binding x, delta = {}, norms = {}, h = {};
        bool add = false, next = false;
        uint32_t dim = 0, window = 0, max_splits = 0;
    };
    void decode_layers(GpuRecorder& program, Depth depth);
    void decode_attention(GpuRecorder& program, uint32_t layer, Residual& residual);
    void decode_ffn(GpuRecorder& program, uint32_t layer, Residual& residual);
    void decode_per_layer_input(GpuRecorder& program, uint32_t layer, Residual& residual);
    // x = the residual, normed by `next` (as it is where that is empty).
    void seam_products(GpuRecorder& program, Residual& residual, const std::vector<float>& next,
                       std::vector<Product> products);
    // The same where the norm is a dispatch of its own.
    void settled_products(GpuRecorder& program, Residual& residual, const std::vector<float>& next,
                          std::vector<Product> products);
    // x as p says, in floats.
    void row_product(GpuRecorder& program, Product p, uint32_t block = 1);
    void matvec(GpuRecorder& program, const Product& p, const Source& source, uint32_t block = 1);
    // The same for a large matrix; matvec asks whether it should be done that way.
    void walk(GpuRecorder& program, const Product& p, gpu::Binding x, const WalkDivision& division);
    [[nodiscard]] std::optional<WalkDivision> walk_of(const Product& p, const Source& source, uint32_t block) const;
    static gpu::Binding weights_of(const Product& p, const GpuMatrix::Piece& piece,
                                   std::vector<gpu::Constant>& constants);
    // Adds to the residual what is to be added, and norms it into xn.
    void settle(GpuRecorder& program, Residual& residual, const std::vector<float>& next, bool planes = false);
    // Whether the workgroups of a product with it make their activations by themselves.
    [[nodiscard]] bool prepares(const GpuMatrix& matrix) const;
    // Whether one dispatch can multiply with both.
    [[nodiscard]] bool joins(const GpuMatrix& matrix, const GpuMatrix& below) const;
    [[nodiscard]] kernels::Activations form_for(const GpuMatrix& matrix) const;

    std::shared_ptr<GpuModel> model_;
    GpuOptions options_;
    GpuResources resources_;
    Activations a_;
    std::vector<LayerCache> caches_;
    RopeRates rates_;
    std::vector<gpu::Binding> head_norms_;
    std::map<std::pair<uint32_t, uint8_t>, gpu::Id> layers_programs_;  // by block size and depth
    std::map<std::pair<uint32_t, uint32_t>, gpu::Id> head_programs_;   // by first row and rows
    std::map<Choice, gpu::Id> choice_programs_;
    std::map<uint8_t, gpu::Id> decode_programs_;  // by choice
    std::vector<GpuRecorder::Labelled> greedy_commands_;
    static constexpr size_t kAdapterSets = 4;
    std::vector<std::unique_ptr<GpuAdapters>> adapter_sets_;  // the one used last is the last
    GpuAdapters* adapters_ = nullptr;                         // those in use
};

}  // namespace lapidary::infer
