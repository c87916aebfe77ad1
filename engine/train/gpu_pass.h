// A sequence's way through the model and back on the GPU, as programs: one for each layer and direction, recorded once.
// Of a sequence only what each layer got is kept; on the way back a layer is computed once more.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "infer/gpu_model.h"
#include "infer/gpu_recorder.h"
#include "infer/gpu_rope.h"
#include "infer/gpu_words.h"
#include "kernels/gemm_shape.h"
#include "train/backend.h"
#include "train/parameters.h"

namespace lapidary::train {

// The numbers of one layer's updates on the GPU, and what belongs to them, all of one size; empty without updates.
struct GpuNumbers {
    gpu::Binding values, gradients, first, second;
    size_t begin = 0;  // where they begin among those of all layers
    size_t count = 0;
};

struct GpuPassOptions {
    uint32_t tokens = 512;  // of the longest sequence
    // Keep only what each layer got, and compute the layer once more on the way back: a third more work, a fraction of
    // the memory.
    bool checkpointing = true;
    // What the scores of a block of queries, and the logits of a tile of the vocabulary, may take.
    uint64_t score_bytes = uint64_t{64} << 20;
    uint64_t logit_bytes = uint64_t{32} << 20;
};

class GpuPass {
  public:
    static Result<std::unique_ptr<GpuPass>> create(std::shared_ptr<infer::GpuModel> model, const Layout& layout,
                                                   const std::vector<GpuNumbers>& numbers, GpuPassOptions options);

    [[nodiscard]] uint32_t tokens() const { return options_.tokens; }
    [[nodiscard]] uint64_t bytes() const { return resources_.bytes(); }

    // Σ weights · cross entropy. With `divisor` > 0 the gradients of that, divided by it, are added to the numbers'.
    Task<Result<double>> run(const Sequence& sequence, double divisor, Dropout dropout, const Breathe& breathe);

  private:
    using GpuMatrix = infer::GpuMatrix;
    using GpuRecorder = infer::GpuRecorder;
    using Binding = gpu::Binding;
    static constexpr size_t kTargets = size_t(lora::Target::proj) + 1;

    // What a layer computes on its way and needs again on the way back. One row a token, or a slot of an expert.
    struct Tape {
        Binding xn, qkv, q, attended, o, h1, u, gate_up, ff, y, h2, gate, gated, projected;
        Binding router_in, router_logits, expert_ids, shares, lists, expert_x, expert_gate_up, expert_ff, expert_out,
            experts, dense, mixed;
        std::array<Binding, kTargets> z;  // A · x of each update
    };
    // Gradients on their way, and what is only needed for a moment.
    struct Scratch {
        Binding step, slot_step, head_step, ids, places, rows, places_of_rows, targets, sums, drops, ones, spare;
        Binding context, token_inputs, inputs;
        Binding scores, dscores, parts, gz;
        Binding dh, d1, d2, d3, dq, dqkv, dff, dgated, datt;
        Binding picked, normed, logits, dnormed, dpicked;
    };
    // A matrix product's place in longer rows.
    struct Place {
        Binding buffer;
        uint64_t stride = 0;
        uint64_t offset = 0;
    };
    enum class Kind : uint8_t { inputs, forward, backward, head };
    struct Key {
        Kind kind;
        uint32_t index;
        bool dropout;
        auto operator<=>(const Key&) const = default;
    };

    GpuPass(std::shared_ptr<infer::GpuModel> model, const Layout& layout, const std::vector<GpuNumbers>& numbers,
            GpuPassOptions options);
    Status allocate();
    Status allocate_scratch();
    Result<Tape> allocate_tape(uint32_t first_layer, uint32_t end_layer);
    [[nodiscard]] Tape& tape(uint32_t layer) { return tapes_[options_.checkpointing ? 0 : layer]; }
    void write(const Sequence& sequence, double divisor, Dropout dropout);
    Task<Result<gpu::Id>> program(Key key);
    Task<Status> run_program(Key key, const Breathe& breathe);

    // gpu_layers.cpp: the way through.
    struct PerLayer {
        Binding binding;
        std::vector<gpu::Constant> constants;  // of kGate and kGateBack
    };
    [[nodiscard]] PerLayer per_layer_inputs(uint32_t layer) const;
    void record_inputs(GpuRecorder& program);
    void record_layer(GpuRecorder& program, uint32_t layer, bool dropout);
    void record_scores(GpuRecorder& program, uint32_t layer, uint32_t first, bool values, Binding by, Binding out);
    void record_probabilities(GpuRecorder& program, uint32_t layer, uint32_t first, Binding about);
    void record_attention(GpuRecorder& program, uint32_t layer);
    void record_experts(GpuRecorder& program, uint32_t layer);
    void record_split_heads(GpuRecorder& program, uint32_t layer, bool back);
    // gpu_back.cpp: the way back. dh is what the layer above has left, times this layer's output scale.
    void record_back(GpuRecorder& program, uint32_t layer, bool dropout);
    void record_attention_back(GpuRecorder& program, uint32_t layer);
    void record_experts_back(GpuRecorder& program, uint32_t layer);
    // gpu_head.cpp: from the last layer's output to the loss and back to its gradient, in tiles of the vocabulary.
    struct Tile {
        Binding w;
        uint32_t first = 0;
        uint32_t rows = 0;
    };
    [[nodiscard]] std::vector<Tile> tiles() const;
    // Programs 0 … tiles − 1 find the loss, the others its gradient.
    void record_head(GpuRecorder& program, uint32_t index);

    // gpu_products.cpp: what the others are made of.
    void product(GpuRecorder& program, const GpuMatrix& matrix, Binding x, Place y);
    void product_back(GpuRecorder& program, const GpuMatrix& matrix, Place dy, Binding dx, bool add);
    void expert_product(GpuRecorder& program, const GpuMatrix& matrix, Binding lists, Binding x, Binding y,
                        uint32_t share);
    void expert_product_back(GpuRecorder& program, const GpuMatrix& matrix, Binding lists, Binding dy, Binding dx);
    void update(GpuRecorder& program, uint32_t layer, lora::Target target, bool dropout, Binding x, Place y);
    void update_back(GpuRecorder& program, uint32_t layer, lora::Target target, bool dropout, Binding x, Place dy,
                     Binding dx);
    struct Norm {
        Binding base = {};  // of norm: what is added; empty: nothing
        Binding x;
        std::vector<float> weights;
        Binding y;
        float scale = 1;
    };
    void norm(GpuRecorder& program, Norm n, Binding step);
    // y: the gradient by x from that in `base`; added to what is there with `add`.
    void norm_back(GpuRecorder& program, Norm n, bool add, Binding step);
    void gemm(GpuRecorder& program, kernels::GemmShape shape, Binding p, Binding q, Binding c, bool wide,
              uint32_t batches = 1, uint32_t drop = 0);
    void sum_parts(GpuRecorder& program, uint32_t width, Binding y);
    void gate(GpuRecorder& program, uint64_t n, Binding g, Binding y, uint64_t rows, Binding step);
    void gate_back(GpuRecorder& program, uint64_t n, Binding dy, Binding g, uint64_t rows, Binding step);

    [[nodiscard]] const model::Config& config() const { return model_->config(); }
    [[nodiscard]] std::vector<float> vector(const model::Weight& weight) const { return model_->vector(weight); }
    [[nodiscard]] float output_scale(uint32_t layer) const;
    [[nodiscard]] uint64_t qkv_stride(uint32_t layer) const;
    [[nodiscard]] const Slot* slot_of(uint32_t layer, lora::Target target) const;
    // The last layer that attends to this layer's keys and values: the first to leave a gradient there.
    [[nodiscard]] uint32_t last_reader(uint32_t kv_layer) const;

    std::shared_ptr<infer::GpuModel> model_;
    const Layout& layout_;
    const std::vector<GpuNumbers>& numbers_;
    GpuPassOptions options_;
    infer::GpuResources resources_;
    infer::GpuWords words_;
    infer::RopeRates rates_;
    Scratch s_;
    std::vector<Tape> tapes_;
    std::vector<Binding> h_;         // [layers + 1]: what each layer gets, and what the last one gives
    std::vector<Binding> kv_, dkv_;  // of layers that own theirs
    std::vector<Binding> head_norms_;
    uint32_t query_block_ = 0;
    uint32_t tile_rows_ = 0;  // of the vocabulary
    uint32_t counted_ = 0;    // rows with a loss, of the sequence that was written
    std::map<Key, gpu::Id> programs_;
    uint32_t running_ = 0;  // programs that were started
};

// The bytes training needs on top of the weights: the adapter with its gradients and moments, and what a sequence of so
// many tokens takes.
struct GpuMemory {
    uint64_t adapter = 0;
    uint64_t sequence = 0;
};
GpuMemory gpu_memory(const model::Config& config, const model::WeightTable& table, const lora::Adapter& adapter,
                     GpuPassOptions options);

}  // namespace lapidary::train
