#include "infer/head.h"

#include "kernels/sample/sampling_ops.h"

namespace lapidary::infer {

void head(kernels::Program& program, GpuOps& ops, const GpuModel& model, gpu::Tensor x, gpu::Tensor logits,
          uint32_t rows) {
    constexpr LinearOf kOutput{.layer = 0, .which = Linear::output};
    const float cap = model.config().logit_softcap;
    const bool adapted = ops.is_adapted(kOutput);  // what adapters add comes before the cap
    kernels::Epilogue epilogue = kernels::Store{};
    if (cap > 0 && !adapted) epilogue = kernels::SoftcapBy{.cap = cap};
    ops.multiply(model.head(), x, logits, epilogue);
    if (!adapted) return;
    ops.adapt(kOutput, x, logits);
    if (cap > 0) {
        program.add(kernels::Softcap{.y = logits, .cols = model.config().vocabulary, .rows = rows, .cap = cap});
    }
}

}  // namespace lapidary::infer
