#include "reference/weights.h"

#include <algorithm>
#include <cstdint>
#include <new>

namespace lapidary::reference {

Task<Result<std::shared_ptr<const Weights>>> Weights::load(const gguf::File& file, const model::WeightTable& table,
                                                           Progress progress, Cancel cancel) {
    std::vector<const model::Weight*> wanted;
    table.for_each([&](const model::Weight& weight) { wanted.push_back(&weight); });
    return load(file, std::move(wanted), std::move(progress), std::move(cancel));
}

Task<Result<std::shared_ptr<const Weights>>> Weights::load(const gguf::File& file,
                                                           std::vector<const model::Weight*> wanted, Progress progress,
                                                           Cancel cancel) {
    constexpr uint64_t kChunk = 4 << 20;  // what one read asks for: bounds the copy in flight
    auto out = std::make_shared<Weights>();
    for (const model::Weight* weight : wanted) out->total_ += weight->bytes();
    // In WebAssembly size_t has 32 bits and the address space 4 GiB, of which the caches need some.
    constexpr uint64_t kMost = sizeof(size_t) == 4 ? 3'500'000'000ull : UINT64_MAX;
    if (out->total_ > kMost) {
        co_return fail(Code::out_of_memory, "the weights take {}; the CPU backend can hold {}: use the GPU backend",
                       format_bytes(out->total_), format_bytes(kMost));
    }
    uint64_t done = 0;
    for (const model::Weight* weight : wanted) {
        const uint64_t size = weight->bytes();
        // Not std::vector: running out of memory must be an error here, and a vector would abort.
        std::unique_ptr<uint8_t[]> bytes(new (std::nothrow) uint8_t[size_t(size)]);
        if (bytes == nullptr) {
            co_return fail(Code::out_of_memory, "not enough memory for the weights ({} needed)",
                           format_bytes(out->total_));
        }
        const auto* tensor = file.find(weight->name);
        if (tensor == nullptr) co_return fail(Code::missing_tensor, "the file has no tensor '{}'", weight->name);
        for (uint64_t offset = 0; offset < size; offset += kChunk) {
            const Bytes chunk = CO_TRY(co_await file.read(*tensor, offset, std::min(kChunk, size - offset), cancel));
            std::ranges::copy(chunk, bytes.get() + offset);
            done += chunk.size();
            if (progress) progress(done, out->total_);
        }
        out->data_.emplace(weight->name, std::move(bytes));
    }
    co_return std::shared_ptr<const Weights>(std::move(out));
}

Matrix Weights::matrix(const model::Weight& weight) const {
    const auto it = data_.find(weight.name);
    if (it == data_.end()) return {};
    return {.type = weight.type, .cols = weight.cols, .rows = weight.rows * weight.slices, .data = it->second.get()};
}

std::vector<float> Weights::vector(const model::Weight& weight) const {
    const Matrix found = matrix(weight);
    return found.present() ? found.decode() : std::vector<float>{};
}

}  // namespace lapidary::reference
