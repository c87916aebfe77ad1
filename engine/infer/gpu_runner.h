// The GPU backend: a Runner on the recorded forward pass.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/started.h"
#include "infer/gpu_canvas.h"
#include "infer/gpu_programs.h"
#include "lora/adapter.h"
#include "model/runner.h"

namespace lapidary::infer {

class GpuRunner final : public Runner {
  public:
    static Task<Result<std::unique_ptr<GpuRunner>>> create(std::shared_ptr<GpuModel> model, GpuOptions options,
                                                           Cancel cancel);

    [[nodiscard]] uint32_t vocabulary() const override { return programs_->config().vocabulary; }
    [[nodiscard]] uint32_t context() const override { return programs_->options().context; }
    [[nodiscard]] uint32_t position() const override { return position_; }
    void truncate(uint32_t length) override;
    Task<Result<std::vector<float>>> run(std::span<const int32_t> tokens, LogitsWanted wanted,
                                         Breathe breathe) override;
    [[nodiscard]] bool takes_soft_tokens() const override { return true; }
    Task<Result<std::vector<float>>> run_soft(SoftTokens soft, LogitsWanted wanted, Breathe breathe) override;
    Task<Status> embed(std::span<const std::vector<int32_t>> texts, OnEmbedded take, Breathe breathe) override;

    [[nodiscard]] std::string state_layout() const override;
    [[nodiscard]] uint64_t state_bytes(uint32_t positions) const override;
    Task<Status> save_state(PutState put) override;
    Task<Status> load_state(std::span<const int32_t> tokens, GetState get) override;

    Task<Status> set_adapters(std::span<const lora::Active> active) override;

    [[nodiscard]] bool can_stream(const sample::Params& params) const override;
    Task<Status> begin_stream(const sample::Params& params, uint32_t most, bool limited) override;
    Task<Result<std::optional<int32_t>>> next_token(sample::Allowed allowed, Cancel cancel) override;
    Task<Status> end_stream(uint32_t accepted) override;

    GpuCanvas* canvas() override { return canvas_.get(); }

    // Greedy continuation that does not leave the GPU unless it has to: `count` steps after `token`, read back at the end.
    Task<Result<std::vector<int32_t>>> decode_greedy(int32_t token, uint32_t count, Cancel cancel);

    // GPU milliseconds of a decoded token, the mean of `repeat` steps from where we are.
    Task<Result<double>> time_decode(uint32_t repeat, Cancel cancel);
    // GPU milliseconds of a decoded token by kernel and size, each measured by itself.
    Task<Result<std::vector<KernelTime>>> profile_decode(Cancel cancel);
    // Of a decoded token, once one was.
    [[nodiscard]] size_t decode_dispatches() const { return programs_->greedy_commands().size(); }
    [[nodiscard]] uint64_t bytes() const { return programs_->bytes(); }

  private:
    friend class GpuCanvas;

    explicit GpuRunner(std::unique_ptr<GpuPrograms> programs) : programs_(std::move(programs)) {}

    [[nodiscard]] Status check(std::span<const int32_t> tokens) const;
    // One block of tokens from where we are; its logits if wanted, unless they are kept on the GPU.
    Task<Result<std::vector<float>>> run_block(std::span<const int32_t> tokens, Depth depth, uint32_t logit_rows,
                                               bool keep);

    // The mean of a text's states.
    Task<Result<std::vector<float>>> mean_state(std::span<const int32_t> tokens, const Breathe& breathe);

    // The same of what is no text (gpu_soft.cpp).
    Task<Result<std::vector<float>>> run_soft_blocks(SoftTokens soft, LogitsWanted wanted, Breathe breathe);
    Task<Result<std::vector<float>>> run_soft_block(SoftTokens soft, Depth depth, uint32_t logit_rows, bool keep);

    // Tokens the GPU chooses by itself.
    struct Stream {
        gpu::Id program = 0;                                      // a step of the model
        gpu::Id chooser = 0;                                      // what follows the step; 0: the step includes it
        bool limited = false;                                     // who asks says which tokens may come
        int32_t last = -1;                                        // the token that was taken last
        uint32_t start = 0;                                       // where the first chosen token goes
        uint32_t most = 0;                                        // tokens to choose
        uint32_t chosen = 0;                                      // so far, or about to be
        uint32_t appended = 0;                                    // of those, so far, or about to be
        std::deque<Started<Result<std::vector<uint8_t>>>> reads;  // of those nobody has taken yet
    };
    // Steps that are under way together: enough for the GPU never to wait for the host, few enough to throw away.
    static constexpr size_t kAhead = 3;
    void choose_next(const Cancel& cancel);
    void choose_among(sample::Allowed allowed, const Cancel& cancel);
    void append_chosen();
    void read_chosen(const Cancel& cancel);

    std::unique_ptr<GpuPrograms> programs_;
    std::unique_ptr<GpuCanvas> canvas_;  // of a model that writes by canvases
    std::optional<Stream> stream_;
    uint32_t position_ = 0;
    uint32_t furthest_ = 0;  // the highest position written since the last time everything was forgotten
};

}  // namespace lapidary::infer
