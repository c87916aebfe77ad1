// The GPU backend: a Runner on the recorded forward pass.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "infer/gpu_forward.h"
#include "model/runner.h"

namespace lapidary::infer {

class GpuRunner final : public Runner {
  public:
    static Task<Result<std::unique_ptr<GpuRunner>>> create(std::shared_ptr<GpuModel> model, GpuOptions options,
                                                           Cancel cancel);

    [[nodiscard]] uint32_t vocabulary() const override { return forward_->config().vocabulary; }
    [[nodiscard]] uint32_t context() const override { return forward_->options().context; }
    [[nodiscard]] uint32_t position() const override { return position_; }
    void truncate(uint32_t length) override;
    Task<Result<std::vector<float>>> run(std::span<const int32_t> tokens, LogitsWanted wanted,
                                         Breathe breathe) override;
    Task<Result<std::vector<float>>> embed(std::span<const int32_t> tokens, Breathe breathe) override;

    [[nodiscard]] std::string state_layout() const override;
    [[nodiscard]] uint64_t state_bytes(uint32_t positions) const override;
    Task<Status> save_state(PutState put) override;
    Task<Status> load_state(uint32_t positions, GetState get) override;

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
    [[nodiscard]] size_t decode_dispatches() const { return forward_->greedy_commands().size(); }
    [[nodiscard]] uint64_t bytes() const { return forward_->bytes(); }

  private:
    explicit GpuRunner(std::unique_ptr<GpuForward> forward) : forward_(std::move(forward)) {}

    [[nodiscard]] Status check(std::span<const int32_t> tokens) const;
    // One block of tokens from where we are; its logits if wanted.
    Task<Result<std::vector<float>>> run_block(std::span<const int32_t> tokens, GpuForward::Depth depth,
                                               uint32_t logit_rows);

    std::unique_ptr<GpuForward> forward_;
    uint32_t position_ = 0;
    uint32_t furthest_ = 0;  // the highest position written since the last time everything was forgotten
};

}  // namespace lapidary::infer
