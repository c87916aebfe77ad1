#include "towers/gpu/gpu_audio.h"

namespace lapidary::towers {

Task<Result<std::unique_ptr<const AudioForward>>> gpu_audio(gpu::Device& device, kernels::Variant variant,
                                                            const gguf::File& file, Audio tower,
                                                            reference::Progress progress, Cancel cancel) {
    const std::vector<Linear> linears = linears_of(tower.table);
    const std::vector<const Weight*> wanted = small_weights(tower.table.all, linears);
    const auto small = CO_TRY(co_await reference::Weights::load(file, wanted, nullptr, cancel));
    auto products = CO_TRY(
        co_await GpuProducts::load(device, variant, file, linears, *small, std::move(progress), std::move(cancel)));
    co_return std::make_unique<const AudioForward>(std::move(tower), small, std::move(products));
}

}  // namespace lapidary::towers
