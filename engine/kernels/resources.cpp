#include "kernels/resources.h"

#include <algorithm>
#include <optional>

#include "base/all.h"
#include "kernels/shader.h"

namespace lapidary::kernels {
std::vector<float> joined(std::initializer_list<std::vector<float>> arrays) {
    std::vector<float> out;
    for (const auto& array : arrays) out.insert(out.end(), array.begin(), array.end());
    return out;
}

Resources::~Resources() {
    for (const gpu::Id id : ids_) device_.release(id);
}

Result<gpu::Binding> Resources::buffer(uint64_t bytes, std::string_view label) {
    const uint64_t size = (std::max<uint64_t>(bytes, 16) + 15) / 16 * 16;
    const gpu::Id id = TRY(device_.buffer(size, gpu::Usage::storage, label));
    own(id);
    bytes_ += size;
    return gpu::Binding{id, 0, size};
}

Result<gpu::Binding> Resources::floats(const std::vector<float>& values, std::string_view label) {
    const gpu::Binding binding = TRY(buffer(values.size() * sizeof(float), label));
    device_.write(binding.buffer, 0, {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)});
    return binding;
}

Result<gpu::Binding> Resources::words(std::span<const uint8_t> bytes) {
    constexpr uint64_t kBytes = 64 << 10;
    if (words_.buffer == 0 || words_used_ + bytes.size() > words_.size) {
        words_ = TRY(buffer(kBytes, "words"));
        words_used_ = 0;
    }
    const gpu::Binding out{words_.buffer, words_used_, (bytes.size() + 15) / 16 * 16};
    device_.write(out.buffer, out.offset, bytes);
    words_used_ += (out.size + kBindingAlignment - 1) / kBindingAlignment * kBindingAlignment;
    return out;
}

Result<std::vector<gpu::Id>> Resources::scratch_buffers(std::span<const Dispatch> dispatches,
                                                        std::span<const Scratch> tensors) {
    if (!shares_scratch_) {
        std::vector<gpu::Id> apart;
        for (const Scratch& tensor : tensors)
            apart.push_back(TRY(buffer(tensor.bytes, "scratch: " + tensor.name)).buffer);
        return apart;
    }
    const std::vector<size_t> numbers = TRY(assign_buffers(dispatches, tensors, scratch_sizes_));
    while (scratch_.size() < scratch_sizes_.size()) {
        const gpu::Binding made = TRY(buffer(scratch_sizes_[scratch_.size()], "scratch"));
        scratch_.push_back(made.buffer);
    }
    std::vector<gpu::Id> out;
    for (const size_t number : numbers) out.push_back(number < scratch_.size() ? scratch_[number] : 0);
    return out;
}

gpu::Id Resources::pipeline(const Dispatch& wanted) const {
    return (pipelines_of_ != nullptr ? pipelines_of_ : this)->pipelines_.at(wanted.key());
}

Task<Status> Resources::make_pipelines(std::span<const Dispatch> wanted, Cancel cancel) {
    if (pipelines_of_ != nullptr) co_return co_await pipelines_of_->make_pipelines(wanted, std::move(cancel));
    // Enough to keep a compiler with many threads busy.
    constexpr size_t kAtOnce = 16;
    std::map<std::string, const Dispatch*> missing;
    for (const Dispatch& one : wanted) {
        std::string key = one.key();
        if (!pipelines_.contains(key)) missing.emplace(std::move(key), &one);
    }
    const std::vector<std::pair<std::string, const Dispatch*>> list(missing.begin(), missing.end());
    Status status;
    co_await for_all(list.size(), kAtOnce, [&](size_t i) -> Task<bool> {
        if (!status) co_return false;  // the others need not be tried
        const auto& [key, one] = list[i];
        auto id = co_await device_.pipeline(shader(*one, variant_), one->label(variant_), one->accesses(),
                                            one->constants, cancel);
        if (id) {
            own(*id);
            pipelines_.emplace(key, *id);
        } else if (status) {
            status = std::unexpected(std::move(id).error());
        }
        co_return true;
    });
    co_return status;
}

}  // namespace lapidary::kernels
