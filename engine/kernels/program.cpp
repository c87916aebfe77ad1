#include "kernels/program.h"

#include <algorithm>

namespace lapidary::kernels {

void Program::append(Dispatch dispatch) {
    for (Dispatch::Bound& bound : dispatch.bindings) {
        if (!bound.words.empty()) {
            bound.at = measures_ ? step_.at : keep(keeper_.words(bound.words));
        } else if (bound.use == Use::read && bound.at.buffer == 0) {
            bound.at = step_.at;
        }
    }
    dispatches_.push_back(std::move(dispatch));
}

gpu::Tensor Program::scratch(std::string_view name, uint32_t rows, uint64_t cols) {
    gpu::Tensor out = scratch_bytes(name, rows * cols * sizeof(float));
    out.rows = rows;
    out.cols = out.stride = uint32_t(cols);
    return out;
}

gpu::Tensor Program::scratch_bytes(std::string_view name, uint64_t bytes) {
    const uint64_t size = (std::max<uint64_t>(bytes, 16) + 15) / 16 * 16;
    scratch_.push_back({.name = std::string(name), .bytes = size});
    return {.at = {kScratchIds + gpu::Id(scratch_.size() - 1), 0, size}};
}

Status Program::reserve() {
    if (error_) return std::unexpected(*error_);
    const std::vector<gpu::Id> buffers = TRY(resources_.scratch_buffers(dispatches_, scratch_));
    for (Dispatch& dispatch : dispatches_) {
        for (Dispatch::Bound& bound : dispatch.bindings) {
            if (is_scratch(bound.at.buffer)) bound.at.buffer = buffers[bound.at.buffer - kScratchIds];
        }
    }
    return {};
}

std::vector<Program::Labelled> Program::labelled() const {
    std::vector<Labelled> out;
    for (size_t i = 0; i < commands_.size(); ++i) {
        const Dispatch& dispatch = dispatches_[i];
        std::string label = dispatch.name();
        if (!dispatch.sizes.empty()) label += " " + dispatch.sizes;
        for (const gpu::Constant& constant : dispatch.constants) {
            const bool is_size = constant.name == "kOut" || constant.name == "kCols" || constant.name == "kHeadDim";
            if (is_size && dispatch.sizes.empty()) label += lapidary::format(" {}", uint64_t(constant.value));
        }
        out.push_back({commands_[i], std::move(label)});
    }
    return out;
}

void Program::host_step(std::string_view why) {
    const size_t before = segment_ends_.empty() ? 0 : segment_ends_.back();
    if (dispatches_.size() == before) {
        return refuse(Code::internal, "nothing was recorded before the host step '{}'", why);
    }
    segment_ends_.push_back(dispatches_.size());
}

Task<Result<gpu::Id>> Program::compile() {
    const std::vector<gpu::Id> segments = CO_TRY(co_await compile_segments());
    if (segments.size() != 1)
        co_return fail(Code::internal, "a program with host steps has {} segments", segments.size());
    co_return segments.front();
}

Task<Result<std::vector<gpu::Id>>> Program::compile_segments() {
    CO_TRY(reserve());
    CO_TRY(co_await resources_.make_pipelines(dispatches_, cancel_));
    for (const Dispatch& dispatch : dispatches_) {
        const gpu::Id pipeline = resources_.pipeline(dispatch);
        std::vector<gpu::Binding> bindings;
        for (const Dispatch::Bound& bound : dispatch.bindings) {
            if (bound.use != Use::none) bindings.push_back(bound.at);
        }
        auto group = resources_.device().bind_group(pipeline, bindings);
        if (!group) {
            CO_TRY(co_await resources_.device().sync(cancel_));  // has more to say about it
            co_return std::unexpected(std::move(group).error());
        }
        keeper_.own(*group);
        commands_.push_back({pipeline, *group, dispatch.grid.x, dispatch.grid.y, dispatch.grid.z});
    }
    std::vector<gpu::Id> out;
    size_t begin = 0;
    std::vector<size_t> ends = segment_ends_;
    ends.push_back(commands_.size());
    for (const size_t end : ends) {
        const gpu::Id id = CO_TRY(resources_.device().program(std::span(commands_).subspan(begin, end - begin)));
        keeper_.own(id);
        out.push_back(id);
        begin = end;
    }
    co_return out;
}

}  // namespace lapidary::kernels
