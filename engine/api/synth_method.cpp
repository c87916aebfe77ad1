// model.synth: a model of noise, for those who have no weights but want to know how fast it would be.
#include "api/api.h"
#include "api/messages/model.h"
#include "model/synth.h"

namespace lapidary::api {

Task<Result<Reply>> Api::model_synth(Call& call) {
    ModelSynthArgs args;
    CO_TRY(read_message(call.args, args));
    const quant::Mix mix = CO_TRY(mix_of(args.type));
    const model::SynthPlan plan = CO_TRY(model::plan_synth(args.variant, mix));
    HostSink sink(ops_, args.sink);
    CO_TRY(co_await model::write_synth(plan, uint64_t(args.seed), sink, progress_of(call), call.cancel,
                                       breathe_for(call)));
    co_return reply(ModelSynthResult{.bytes = int64_t(plan.layout.file_size), .tensors = int64_t(plan.tensors.size())});
}

}  // namespace lapidary::api
