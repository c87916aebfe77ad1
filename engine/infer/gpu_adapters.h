// A set of adapters on the GPU, with their scales: the ranks of all that update the same matrix lie side by side, so that
// a set costs as many dispatches as one of them. Holds the programs that were recorded with it.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <vector>

#include "infer/gpu_model.h"
#include "infer/ops.h"
#include "kernels/gemm/batched_gemm.h"
#include "kernels/program.h"
#include "lora/adapter.h"

namespace lapidary::infer {

// A session's programs that depend on the adapters in use.
struct ProgramsByKey {
    std::map<std::pair<uint32_t, uint8_t>, gpu::Id> layers;  // by block size and depth
    std::map<std::pair<uint32_t, uint32_t>, gpu::Id> heads;  // by first row and rows
    std::map<uint8_t, gpu::Id> decodes;                      // by how the next token is chosen
    std::map<bool, gpu::Id> canvas_steps;                    // by whether there was a step before
};

class GpuAdapters {
  public:
    // An update of one matrix.
    struct Term {
        uint32_t out = 0;
        uint32_t rank = 0;      // of all adapters together
        uint32_t at = 0;        // its first column of z
        uint32_t y_offset = 0;  // where its result begins in a row
        gpu::Tensor b;          // [out, rank], with the scales
    };
    // Of matrices that read the same x.
    struct Updates {
        uint32_t in = 0;
        uint32_t rank = 0;  // of all terms together
        gpu::Tensor a;      // [rank, in]; of token_embd [in, rank]
        std::vector<Term> terms;
    };

    static Result<std::unique_ptr<GpuAdapters>> create(const GpuModel& model, std::span<const lora::Active> active,
                                                       kernels::Variant variant);
    virtual ~GpuAdapters() = default;
    GpuAdapters(const GpuAdapters&) = delete;
    GpuAdapters& operator=(const GpuAdapters&) = delete;

    [[nodiscard]] const std::vector<lora::Active>& active() const { return active_; }
    // Empty where nothing is updated.
    [[nodiscard]] const Updates& updates(LinearOf which) const;

    // y += B · (A · x) for every update of these matrices. x: [rows, in]
    virtual void add(kernels::Program& program, LinearOf which, gpu::Tensor x, gpu::Tensor y, uint32_t rows);
    // h += factor · B · A[:, ids], of the embedding.
    virtual void add_embedding(kernels::Program& program, gpu::Tensor ids, float factor, gpu::Tensor h, uint32_t rows);

    [[nodiscard]] kernels::Resources& resources() { return resources_; }

    ProgramsByKey programs;  // that were recorded with them

  private:
    GpuAdapters(gpu::Device& device, std::span<const lora::Active> active, kernels::Variant variant);
    // A target, and where the result of its matrix begins in a row.
    struct Part {
        lora::Target target;
        uint32_t y_offset = 0;
    };
    Status upload(const GpuModel& model, LinearOf which, std::initializer_list<Part> parts);
    void add_terms(kernels::Program& program, const Updates& updates, gpu::Tensor z, gpu::Tensor y, float factor,
                   uint32_t rows);

    std::vector<lora::Active> active_;
    kernels::Resources resources_;
    std::map<std::pair<uint32_t, Linear>, Updates> updates_;
};

// Makes sets, where there are adapters at all: whoever loads the first one calls enable_gpu_adapters. An engine that cannot load
// any need not have the code, which is why nothing else may name `create`.
extern decltype(&GpuAdapters::create) make_gpu_adapters;
void enable_gpu_adapters();

}  // namespace lapidary::infer
