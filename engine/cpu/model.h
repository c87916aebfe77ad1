// A model's weights in a machine's memory, packed: made while they are read, shared by every session.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/cancel.h"
#include "base/task.h"
#include "cpu/machine.h"
#include "gguf/file.h"
#include "infer/ops.h"
#include "infer/table_rows.h"
#include "model/config.h"
#include "model/weights.h"

namespace lapidary::cpu {

// A matrix, and where its result begins in a row of those that read the same x.
struct Piece {
    Matrix w;
    uint32_t y_at = 0;
};
using Stack = std::vector<Piece>;

// The same matrix of all experts.
struct ExpertMatrices {
    Matrix w;            // the first one's
    uint32_t slice = 0;  // bytes from expert to expert
};

struct LayerMatrices {
    Stack qkv, o, gate_up, down, inp_gate, proj, router;
    // Gate's rows, then up's; or first gate's, then up's.
    std::vector<ExpertMatrices> expert_gate_up;
    ExpertMatrices expert_down;
};

struct ModelOptions {
    Accuracy accuracy = Accuracy::exact;
    infer::TablePlace place = infer::TablePlace::automatic;
};

class Model {
  public:
    using Progress = std::function<void(uint64_t done, uint64_t total)>;

    // Whether a model can be run here at all; of others the reference has to take care.
    static Status can_run(const model::Config& config, const model::WeightTable& table);
    // What its weights take here.
    static uint64_t planned_bytes(const model::WeightTable& table, infer::TablePlace place);
    // heap: lives longer than the model.
    static Task<Result<std::shared_ptr<Model>>> load(Heap& heap, const gguf::File& file,
                                                     std::shared_ptr<const model::Config> config,
                                                     std::shared_ptr<const model::WeightTable> table,
                                                     ModelOptions options, Progress progress, Cancel cancel);

    [[nodiscard]] const model::Config& config() const { return *config_; }
    [[nodiscard]] const model::WeightTable& table() const { return *table_; }
    [[nodiscard]] Heap& heap() const { return blocks_.heap(); }
    [[nodiscard]] uint64_t bytes() const { return bytes_; }
    [[nodiscard]] Accuracy accuracy() const { return accuracy_; }
    // What activations become for weights of few bits.
    [[nodiscard]] Digits digits() const { return digits_; }

    // A small weight as floats; where such floats are in the machine's memory.
    [[nodiscard]] infer::Norm vector(const model::Weight& weight) const;
    Result<Address> place(const std::vector<float>& values);

    [[nodiscard]] const Stack& matrices(infer::LinearOf which) const;
    // [head_dim / 2] doubles: the angle that a position adds.
    [[nodiscard]] Address frequencies(bool sliding) const { return sliding ? rope_sliding_ : rope_full_; }

    Matrix token_embd;
    Stack head;
    Matrix per_layer_token_embd;                       // form none: its rows come, as floats, from
    std::unique_ptr<infer::TableRows> per_layer_rows;  // null: the table is here, or there is none
    Stack per_layer_model_proj;
    Stack dense_first, dense_second;  // of a model of embeddings
    std::vector<LayerMatrices> layers;

  private:
    Model(Heap& heap, std::shared_ptr<const model::Config> config, std::shared_ptr<const model::WeightTable> table)
        : config_(std::move(config)), table_(std::move(table)), blocks_(heap) {}

    struct Loader;
    Status allocate(Loader& loader, bool away);
    Status place_frequencies();

    std::shared_ptr<const model::Config> config_;
    std::shared_ptr<const model::WeightTable> table_;
    Blocks blocks_;
    std::vector<std::pair<std::string, std::vector<float>>> vectors_;
    std::vector<std::pair<std::vector<float>, Address>> placed_;
    Address rope_full_ = 0, rope_sliding_ = 0;
    Accuracy accuracy_ = Accuracy::exact;
    Digits digits_ = Digits::none;
    uint64_t bytes_ = 0;
};

}  // namespace lapidary::cpu
