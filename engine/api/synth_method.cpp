// model.synth: a model of noise, for those who have no weights but want to know how fast it would be.
#include "api/api.h"
#include "model/synth.h"

namespace lapidary::api {

// {variant, type, seed, sink} → {bytes, tensors}, with progress
Task<Result<Reply>> Api::model_synth(Call& call) {
    constexpr int64_t kMaxSeed = int64_t{1} << 53;  // JavaScript's numbers are doubles
    const std::string variant = CO_TRY(call.args.string("variant"));
    const auto seed = uint64_t(CO_TRY(call.args.integer_or("seed", 0, kMaxSeed, 0)));
    const quant::Mix mix = CO_TRY(mix_of(call));
    const model::SynthPlan plan = CO_TRY(model::plan_synth(variant, mix));
    HostSink sink(ops_, CO_TRY(call.args.id("sink")));
    CO_TRY(co_await model::write_synth(plan, seed, sink, progress_of(call), call.cancel, breathe_for(call)));
    co_return Reply{.json = {{"bytes", plan.layout.file_size}, {"tensors", plan.tensors.size()}}};
}

}  // namespace lapidary::api
