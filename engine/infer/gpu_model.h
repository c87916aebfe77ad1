// A model's weights on the GPU: uploaded once, shared by every session.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "gpu/device.h"
#include "infer/autotune.h"
#include "infer/table_rows.h"
#include "kernels/weights.h"
#include "model/config.h"
#include "model/weights.h"

namespace lapidary::infer {

struct GpuLayer {
    // Q, K and V (as far as the layer has them), neighbours of one format together; their rows follow each other.
    std::vector<kernels::Weights> qkv;
    kernels::Weights attn_output;
    kernels::Weights gate_up;  // gate's rows, then up's
    kernels::Weights down;
    kernels::Weights inp_gate;
    kernels::Weights proj;
    kernels::Weights router;
    kernels::Weights expert_gate_up;  // [experts][gate's rows, then up's]
    kernels::Weights expert_down;
};

class GpuModel {
  public:
    using Progress = std::function<void(uint64_t done, uint64_t total)>;

    static Task<Result<std::shared_ptr<GpuModel>>> load(gpu::Device& device, const gguf::File& file,
                                                        std::shared_ptr<const model::Config> config,
                                                        std::shared_ptr<const model::WeightTable> table,
                                                        Autotune choice, TablePlace place, Progress progress,
                                                        Cancel cancel);
    // The same with matrices that nobody fills: for a device that only plans. Small weights are read.
    static Task<Result<std::shared_ptr<GpuModel>>> plan(gpu::Device& device, const gguf::File& file,
                                                        std::shared_ptr<const model::Config> config,
                                                        std::shared_ptr<const model::WeightTable> table,
                                                        Autotune choice, TablePlace place);
    ~GpuModel();
    GpuModel(const GpuModel&) = delete;
    GpuModel& operator=(const GpuModel&) = delete;

    [[nodiscard]] gpu::Device& device() const { return device_; }
    [[nodiscard]] const Autotune& choice() const { return choice_; }
    [[nodiscard]] const model::Config& config() const { return *config_; }
    [[nodiscard]] const model::WeightTable& table() const { return *table_; }
    [[nodiscard]] uint64_t bytes() const { return bytes_; }

    // A small weight as floats, kept on the CPU: programs combine them into what a kernel binds.
    [[nodiscard]] std::vector<float> vector(const model::Weight& weight) const;
    // The norms of a layer's queries, with the scale of attention in it, and of its keys.
    [[nodiscard]] std::vector<float> head_norms(uint32_t layer) const;

    kernels::Weights token_embd;
    kernels::Weights output;                    // pieces empty: token_embd is the head
    kernels::Weights per_layer_token_embd;      // pieces empty: its rows come from
    std::unique_ptr<TableRows> per_layer_rows;  // null: the table is on the GPU, or there is none
    kernels::Weights per_layer_model_proj;
    std::vector<GpuLayer> layers;
    kernels::Weights dense_first, dense_second;  // of a model of embeddings
    struct {
        kernels::Weights gate_up;  // gate's rows, then up's
        kernels::Weights down;
    } self_conditioning;  // of a model that writes by canvases

    [[nodiscard]] const kernels::Weights& head() const { return output.pieces.empty() ? token_embd : output; }

  private:
    GpuModel(gpu::Device& device, std::shared_ptr<const model::Config> config,
             std::shared_ptr<const model::WeightTable> table, Autotune choice)
        : device_(device), config_(std::move(config)), table_(std::move(table)), choice_(std::move(choice)) {}

    struct Loader;
    Task<Status> fill(Loader& loader, TablePlace place);
    Task<Status> fill_self_conditioning(Loader& loader);

    gpu::Device& device_;
    std::shared_ptr<const model::Config> config_;
    std::shared_ptr<const model::WeightTable> table_;
    Autotune choice_;
    std::vector<gpu::Id> buffers_;
    std::vector<std::pair<std::string, std::vector<float>>> vectors_;
    uint64_t bytes_ = 0;
};

}  // namespace lapidary::infer
