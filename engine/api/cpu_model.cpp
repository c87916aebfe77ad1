// A model on the CPU: on packed weights where there are kernels for it, else on the reference.
#include "api/api.h"
#include "api/describe.h"
#include "api/messages/model.h"
#include "api/messages/session.h"
#include "base/edition.h"
#include "cpu/runner.h"
#include "model/memory.h"
#include "reference/forward.h"

namespace lapidary::api {

Result<infer::TablePlace> table_place(std::string_view name) {
    using enum infer::TablePlace;
    if (name == "auto") return automatic;
    if (name == "gpu") return gpu;
    if (name == "source") return source;
    return fail(Code::invalid_argument, "'per_layer_embeddings' must be 'auto', 'gpu' or 'source'");
}

Task<Status> Api::load_on_cpu(const Call& call, OpenModel& model, const ModelLoadArgs& args) {
    if (model.cpu_model != nullptr || model.cpu_weights != nullptr) co_return Status{};
    const auto table = CO_TRY(model.weights());
    const cpu::ModelOptions options{.accuracy = args.accuracy == "fast" ? cpu::Accuracy::fast : cpu::Accuracy::exact,
                                    .place = CO_TRY(table_place(args.per_layer_embeddings))};
    Status fits = cpu::Model::can_run(*CO_TRY(model.config()), *table);
    if (fits && args.accuracy == "reference") fits = fail(Code::unsupported, "the reference was asked for");
    if (fits && (machine_ == nullptr || machine_->digits(options.accuracy) == cpu::Digits::none)) {
        fits = fail(Code::unsupported, "there are no kernels for the CPU here");
    }
    if (fits) {
        if (cpu_heap_ == nullptr) cpu_heap_ = std::make_unique<cpu::Heap>(*machine_);
        model.cpu_model = CO_TRY(co_await cpu::Model::load(*cpu_heap_, model.file, CO_TRY(model.config()), table,
                                                           options, progress_of(call), call.cancel));
        co_return Status{};
    }
    if (!has_everything()) co_return fail(Code::needs_everything, "{}", fits.error().message);
    model.why_reference = fits.error().message;
    co_return co_await load_reference(call, model);
}

Task<Status> Api::load_reference(const Call& call, OpenModel& model) {
    if (model.cpu_weights == nullptr) {
        model.cpu_weights = CO_TRY(
            co_await reference::Weights::load(model.file, *CO_TRY(model.weights()), progress_of(call), call.cancel));
    }
    co_return Status{};
}

Result<std::unique_ptr<Runner>> Api::cpu_runner(OpenModel& model, uint32_t context) {
    if (model.cpu_model != nullptr) return TRY(cpu::Runner::create(model.cpu_model, context));
    if (!has_everything()) return fail(Code::needs_everything, "the reference runs this model");
    // The reference keeps every position in f32, in the memory the weights live in too.
    const auto config = TRY(model.config());
    const uint64_t bytes = model::kv_bytes_unwindowed(*config, context);
    constexpr uint64_t kMost = sizeof(size_t) == 4 ? 2ull << 30 : 64ull << 30;
    if (bytes > kMost) {
        return fail(Code::out_of_memory, "a context of {} tokens takes {}: ask for a shorter one", context,
                    format_bytes(bytes));
    }
    return std::make_unique<reference::Forward>(config, TRY(model.weights()), model.cpu_weights, context);
}

std::optional<CpuKernels> describe_cpu(const OpenModel& model) {
    if (model.cpu_model != nullptr) {
        constexpr const char* kDigits[] = {"none", "two_i16", "three_i8", "one_i8"};
        const cpu::Model& m = *model.cpu_model;
        return CpuKernels{.accuracy = m.accuracy() == cpu::Accuracy::fast ? "fast" : "exact",
                          .digits = kDigits[size_t(m.digits())]};
    }
    if (model.cpu_weights != nullptr) return CpuKernels{.accuracy = "reference", .why = model.why_reference};
    return std::nullopt;
}

}  // namespace lapidary::api
