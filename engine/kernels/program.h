// Program: collects dispatches, at once and without failing; what was wrong comes out when it is compiled. Then the pipelines
// that are missing are made, several at a time, and the host gets a list that it can replay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/format.h"
#include "base/task.h"
#include "kernels/arena.h"
#include "kernels/resources.h"

namespace lapidary::kernels {

class Program {
  public:
    // Pipelines are the resources'; what is made for this program alone belongs to `keeper`, if there is one. `step`: what
    // kernels read to know where in the text they are.
    Program(Resources& resources, gpu::Tensor step, Cancel cancel, Resources* keeper = nullptr)
        : resources_(resources),
          keeper_(keeper != nullptr ? *keeper : resources),
          target_(resources.target()),
          step_(step),
          cancel_(std::move(cancel)) {}

    [[nodiscard]] const Target& target() const { return target_; }

    template <class Op>
    void add(const Op& op) {
        if (auto dispatch = op.dispatch(target_)) {
            append(*std::move(dispatch));
        } else {
            keep(std::move(dispatch).error());
        }
    }
    // The same where rows are counted by another step.
    template <class Op>
    void add(const Op& op, gpu::Tensor step) {
        std::swap(step, step_);
        add(op);
        std::swap(step, step_);
    }
    // Of everything from here on.
    void count_rows_by(gpu::Tensor step) { step_ = step; }
    // A tensor for as long as the program runs; which buffer it gets is decided when the program is compiled.
    gpu::Tensor scratch(std::string_view name, uint32_t rows, uint64_t cols);
    // The same by its bytes.
    gpu::Tensor scratch_bytes(std::string_view name, uint64_t bytes);
    // A small constant array of this program's.
    gpu::Tensor floats(const std::vector<float>& values, std::string_view label) {
        const gpu::Binding at = measures_ ? step_.at : keep(keeper_.floats(values, label));
        return {.at = at, .rows = 1, .cols = uint32_t(values.size())};
    }
    // What cannot be recorded. The first reason is the one that compile() tells.
    template <class... Args>
    void refuse(Code code, FormatPattern<std::type_identity_t<Args>...> pattern, const Args&... args) {
        keep(Error{code, format<Args...>(pattern, args...)});
    }
    // The value; without one what was wrong is told by compile(), and an empty value will do until then.
    template <class T>
    T keep(Result<T> result) {
        if (result) return *std::move(result);
        keep(std::move(result).error());
        return T{};
    }
    // Before anything is recorded: nothing is made for a program that only has to say how much scratch memory it needs.
    void only_measure() { measures_ = true; }
    // Finds buffers for the scratch tensors, without making the program: memory is there then, or is not.
    Status reserve();
    // What follows needs something from the host first: the program is replayed in segments, and between them the host reads
    // and writes what it likes. `why`: for errors.
    void host_step(std::string_view why);
    // Makes the pipelines, then the program. With host steps there is a program for each segment.
    Task<Result<gpu::Id>> compile();
    Task<Result<std::vector<gpu::Id>>> compile_segments();

    // What was recorded and compiled, each with the kernel's name and sizes, for profiles.
    struct Labelled {
        gpu::Command command;
        std::string label;
    };
    [[nodiscard]] std::vector<Labelled> labelled() const;

  private:
    void append(Dispatch dispatch);
    void keep(Error error) {
        if (!error_) error_ = std::move(error);
    }

    Resources& resources_;
    Resources& keeper_;
    Target target_;
    gpu::Tensor step_;
    Cancel cancel_;
    std::optional<Error> error_;
    std::vector<Dispatch> dispatches_;
    std::vector<size_t> segment_ends_;  // all but the last: dispatches before each host step
    std::vector<Scratch> scratch_;
    bool measures_ = false;
    std::vector<gpu::Command> commands_;
};

}  // namespace lapidary::kernels
