// train.*: an adapter in the making.
#include <algorithm>
#include <cmath>

#include "api/api.h"
#include "api/chat_prompt.h"
#include "api/describe.h"
#include "api/messages/session.h"
#include "api/messages/train.h"
#include "infer/answer.h"
#include "infer/turns.h"
#include "train/cpu_backend.h"
#include "train/data.h"
#include "train/gpu_backend.h"
#include "train/gradcheck.h"
#include "train/session.h"

namespace lapidary::api {
namespace {

constexpr uint32_t kSampleTokens = 96;
constexpr uint32_t kSampleContext = 1024;
// How long a step may go on after the call was cancelled.
constexpr double kGraceMs = 4000;

template <class T, class Given>
void set(T& to, const std::optional<Given>& given) {
    if (given) to = T(*given);
}

Result<train::Settings> settings_of(const TrainCreateArgs& args) {
    train::Settings s;
    set(s.rank, args.rank);
    s.alpha = float(args.alpha.value_or(2 * double(s.rank)));
    if (!args.targets.empty()) s.targets.clear();
    for (const std::string& name : args.targets) {
        // "q" is short for "q_proj".
        auto target = lora::target_from(name);
        if (!target) target = lora::target_from(name + "_proj");
        if (!target) return fail(Code::invalid_argument, "there is no target '{}'", printable(name));
        s.targets.push_back(*target);
    }
    for (const int64_t layer : args.layers) {
        if (layer < 0 || layer > UINT32_MAX) return fail(Code::invalid_argument, "there is no layer {}", layer);
        s.layers.push_back(uint32_t(layer));
    }
    set(s.batch, args.batch);
    set(s.accumulate, args.accumulate);
    set(s.sequence, args.seq);
    s.cut = args.cut;
    set(s.validation, args.validation);
    set(s.epochs, args.epochs);
    s.steps = uint64_t(args.steps);
    set(s.adamw.learning_rate, args.lr);
    set(s.adamw.weight_decay, args.weight_decay);
    set(s.adamw.clip_norm, args.clip_norm);
    set(s.adamw.beta1, args.beta1);
    set(s.adamw.beta2, args.beta2);
    if (!args.schedule.empty()) s.schedule = TRY(train::schedule_from(args.schedule));
    set(s.warmup, args.warmup);
    set(s.dropout, args.dropout);
    s.seed = uint64_t(args.seed);
    s.every = uint64_t(args.every);
    TRY(train::check(s));
    return s;
}

// What the CPU has beside the weights. In WebAssembly that is what is left of its address space.
uint64_t cpu_room(const OpenModel& model) {
    constexpr uint64_t kAll = sizeof(size_t) == 4 ? 3'900'000'000ull : 64ull << 30;
    const uint64_t weights = model.cpu_weights != nullptr ? model.cpu_weights->bytes() : 0;
    return kAll - std::min(kAll, weights);
}

// What sequences of some length need on the CPU, and the longest that fits: with and without computing layers again.
Result<TrainPlan> memory_plan(OpenModel& model, const lora::Adapter& adapter, uint32_t longest, bool checkpointing) {
    const auto config = TRY(model.config());
    const auto table = TRY(model.weights());
    const uint64_t room = cpu_room(model);
    const auto needed = [&](uint32_t tokens, bool again) {
        const auto memory = train::cpu_memory(*config, *table, adapter, tokens, {.checkpointing = again});
        return memory.adapter + memory.sequence;
    };
    const auto fits = [&](bool again) {
        uint32_t low = 0;
        for (uint32_t step = train::kMaxExampleTokens; step > 0; step /= 2) {
            if (low + step <= config->context_length && needed(low + step, again) <= room) low += step;
        }
        return low;
    };
    const uint64_t memory = needed(longest, checkpointing);
    if (memory > room) {
        return fail(Code::out_of_memory,
                    "sequences of {} tokens need {} beside the weights, and there are {}: {} tokens would fit{}",
                    longest, format_bytes(memory), format_bytes(room), fits(checkpointing),
                    checkpointing ? "" : ", more with checkpointing");
    }
    return TrainPlan{.memory = int64_t(memory),
                     .memory_with_checkpointing = int64_t(needed(longest, true)),
                     .memory_without_checkpointing = int64_t(needed(longest, false)),
                     .room = int64_t(room),
                     .longest_with_checkpointing = fits(true),
                     .longest_without_checkpointing = fits(false)};
}

uint64_t parameters_of(const lora::Adapter& adapter) {
    uint64_t out = 0;
    for (const lora::Update& update : adapter.updates) out += update.a.size() + update.b.size();
    return out;
}

}  // namespace

Result<std::shared_ptr<OpenTraining>> Api::take_training(Id train) const {
    const auto it = trainings_.find(train);
    if (it == trainings_.end()) return fail(Code::not_found, "there is no such training: it was closed or never made");
    const auto training = it->second;
    if (training->busy) return fail(Code::invalid_argument, "the training is busy with another call");
    training->busy = true;
    return std::shared_ptr<OpenTraining>(training.get(), [training](OpenTraining* taken) { taken->busy = false; });
}

Task<Result<std::unique_ptr<train::Backend>>> Api::training_backend(const Call& call, OpenModel& model,
                                                                    const lora::Adapter& adapter, uint32_t longest,
                                                                    std::string_view backend, bool checkpointing) {
    if (CO_TRY(model.config())->diffusion) {
        co_return fail(
            Code::unsupported,
            "a model that writes by canvases cannot be trained here: it learns by denoising, not from the next "
            "token");
    }
    if (backend.empty()) backend = model.gpu_weights != nullptr ? "gpu" : "cpu";
    if (backend == "gpu" && model.gpu_weights != nullptr) {
        co_return CO_TRY(co_await train::GpuBackend::create(
            model.gpu_weights, adapter, {.tokens = longest, .checkpointing = checkpointing}, call.cancel));
    }
    if (backend == "cpu" && model.cpu_model != nullptr) CO_TRY(co_await load_reference(call, model));
    if (backend != "cpu" || model.cpu_weights == nullptr) {
        co_return fail(Code::invalid_argument, "the model is not loaded for training on the backend '{}'",
                       printable(backend));
    }
    co_return CO_TRY(train::CpuBackend::create(CO_TRY(model.config()), CO_TRY(model.weights()), model.cpu_weights,
                                               adapter, {.checkpointing = checkpointing}));
}

Task<Result<Reply>> Api::train_create(Call& call) {
    TrainCreateArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    const auto data = CO_TRY(data_of(args.data));
    CO_TRY(model::check_writes_text(*CO_TRY(model->config())));
    train::Settings settings = CO_TRY(settings_of(args));
    lora::Adapter adapter = CO_TRY(train::initial_adapter(*CO_TRY(model->weights()), settings));
    adapter.base_model = CO_TRY(model->config())->name;
    if (!args.name.empty()) adapter.name = args.name;
    auto examples = std::shared_ptr<const train::Examples>(data->set, &data->set->examples);
    const uint32_t longest = CO_TRY(train::Batches::create(examples, settings)).longest();

    auto training = std::make_shared<OpenTraining>();
    training->model = model;
    training->data = data;
    training->samples = std::move(args.samples);
    training->backend = args.backend;
    if (training->backend.empty()) training->backend = model->gpu_weights != nullptr ? "gpu" : "cpu";
    TrainPlan plan;
    if (training->backend == "cpu") plan = CO_TRY(memory_plan(*model, adapter, longest, args.checkpointing));
    if (training->backend == "gpu" && model->gpu_weights != nullptr) {
        const train::Dropout dropout{.probability = settings.dropout};
        // A device that only plans never waits, and what never waits is called ever deeper: WebAssembly has no tail calls, so a
        // model of many layers would run out of stack. Between two programs the host has its turn.
        const Breathe unwind = [this, cancel = call.cancel]() -> Task<Status> {
            CO_TRY(cancel.check());
            CO_TRY(co_await ops_.defer({}));
            co_return Status{};
        };
        const auto memory = [&](bool checkpointing) {
            return train::GpuBackend::memory(model->gpu_weights, adapter,
                                             {.tokens = longest, .checkpointing = checkpointing}, dropout, unwind);
        };
        plan.memory_with_checkpointing = int64_t(CO_TRY(co_await memory(true)));
        plan.memory_without_checkpointing = int64_t(CO_TRY(co_await memory(false)));
        plan.memory = args.checkpointing ? plan.memory_with_checkpointing : plan.memory_without_checkpointing;
    }
    auto backend =
        CO_TRY(co_await training_backend(call, *model, adapter, longest, training->backend, args.checkpointing));
    training->session = CO_TRY(train::Session::create(std::move(settings), std::move(examples), std::move(backend),
                                                      [this] { return host_.now(); }));
    const train::Batches& batches = training->session->batches();
    plan.steps = int64_t(batches.steps());
    plan.steps_of_epoch = int64_t(batches.steps_of_epoch());
    plan.parameters = int64_t(parameters_of(adapter));
    plan.examples = int64_t(batches.training_examples());
    plan.validation_examples = int64_t(batches.validation_examples());
    plan.cut_examples = int64_t(batches.cut_examples());
    plan.longest = longest;
    const uint32_t id = ++last_id_;
    trainings_.emplace(id, std::move(training));
    co_return reply(TrainCreateResult{.train = id, .plan = plan});
}

Breathe Api::breathe_to_the_end(const Call& call) {
    constexpr double kBetweenMs = 15;
    return [this, cancel = call.cancel, asked = -1.0]() mutable -> Task<Status> {
        const double now = host_.now();
        if (cancel.requested()) {
            if (asked < 0) asked = now;
            if (now - asked > kGraceMs) CO_TRY(cancel.check());
        }
        if (now - last_breath_ < kBetweenMs) co_return Status{};
        CO_TRY(co_await ops_.defer({}));
        last_breath_ = host_.now();
        co_return Status{};
    };
}

// Cancelled, it ends after the step it is at and can be run again.
Task<Result<Reply>> Api::train_run(Call& call) {
    TrainRunArgs args;
    CO_TRY(read_message(call.args, args));
    const auto training = CO_TRY(take_training(args.train));
    if (args.data && CO_TRY(data_of(Id(*args.data))) != training->data) {
        co_return fail(Code::invalid_argument, "the training was made for another data set");
    }
    const Breathe breathe = breathe_to_the_end(call);
    train::Listener listener;
    listener.on_step = [&](const train::StepReport& report) {
        emit(call,
             TrainStepEvent{.step = int64_t(report.step),
                            .steps = int64_t(report.steps),
                            .epoch = int64_t(report.epoch),
                            .loss = report.loss,
                            .lr = report.learning_rate,
                            .grad_norm = report.gradient_norm,
                            .tokens = int64_t(report.tokens),
                            .tokens_per_second = double(report.tokens) / std::max(report.milliseconds, 0.001) * 1000});
    };
    listener.on_validation = [&](uint64_t step, double loss) {
        emit(call, TrainValidationEvent{.step = int64_t(step), .loss = loss});
    };
    if (!training->samples.empty()) {
        listener.sample = [&](uint64_t step) { return train_sample(call, *training, step, breathe); };
    }
    train::Session& session = *training->session;
    const uint64_t start = session.step();
    const auto enough = [&] { return session.step() - start >= uint64_t(args.at_most); };
    const auto ended = co_await session.run(listener, breathe, [&] { return call.cancel.requested() || enough(); });
    // That it was to end here is no error.
    if (!ended && (ended.error().code != Code::cancelled || !enough())) co_return std::unexpected(ended.error());
    co_return reply(TrainRunResult{.step = int64_t(session.step()), .finished = session.finished()});
}

Task<Status> Api::train_sample(const Call& call, OpenTraining& training, uint64_t step, Breathe breathe) {
    const auto config = CO_TRY(training.model->config());
    const auto tokenizer = CO_TRY(training.model->tokenizer());
    const Call own{.id = call.id, .args = {}, .blob = {}, .cancel = {}};
    const SessionCreateArgs wanted{.context = {}, .backend = training.backend, .kv = {}};
    const auto open =
        CO_TRY(co_await new_session(own, *training.model, std::min(kSampleContext, config->context_length), wanted));
    auto adapter = std::make_shared<const lora::Adapter>(CO_TRY(co_await training.session->backend().adapter()));
    infer::enable_gpu_adapters();
    CO_TRY(co_await open->session->use({{.adapter = std::move(adapter)}}));
    const chat::RenderOptions render{.turns = infer::turns_of(*tokenizer),
                                     .size = config->is_small() ? chat::ModelSize::small : chat::ModelSize::large,
                                     .thinking = false,
                                     .generation = chat::GenerationPrompt::always};
    // A run that is stopped among them goes on with the next.
    for (; training.next_sample < training.samples.size(); ++training.next_sample) {
        const std::string& text = training.samples[training.next_sample];
        const auto conversation =
            CO_TRY(chat::conversation_from_json(Json::array({{{"role", "user"}, {"content", text}}}), Json()));
        ChatPrompt prompt = CO_TRY(chat_prompt(*tokenizer, conversation, render));
        infer::ChatAnswer answer(tokenizer,
                                 {.turns = render.turns, .start = prompt.end, .thinking = false, .tools = {}}, {}, {});
        infer::GenerateListener listener;
        listener.on_token = [&](int32_t token) {
            answer.feed(token);
            return !answer.stopped();
        };
        listener.is_end = [&](int32_t token) { return tokenizer->is_end_of_generation(token); };
        infer::GenerateOptions options{.max_tokens = kSampleTokens};
        options.sampling.temperature = 0;
        CO_TRY(co_await open->session->generate(std::move(prompt.prompt), options, listener, breathe));
        answer.finish();
        emit(call, TrainSampleEvent{.step = int64_t(step), .prompt = text, .text = answer.content()});
    }
    training.next_sample = 0;
    co_return Status{};
}

Task<Result<Reply>> Api::train_save(Call& call) {
    TrainArgs args;
    CO_TRY(read_message(call.args, args));
    const auto training = CO_TRY(take_training(args.train));
    Bytes bytes = CO_TRY(co_await training->session->save());
    co_return reply(TrainStepResult{.step = int64_t(training->session->step())}, std::move(bytes));
}

Task<Result<Reply>> Api::train_restore(Call& call) {
    TrainArgs args;
    CO_TRY(read_message(call.args, args));
    const auto training = CO_TRY(take_training(args.train));
    CO_TRY(co_await training->session->restore(call.blob));
    co_return reply(TrainStepResult{.step = int64_t(training->session->step())});
}

// As it is now; training goes on with one of its own.
Task<Result<Reply>> Api::train_adapter(Call& call) {
    TrainAdapterArgs args;
    CO_TRY(read_message(call.args, args));
    const auto training = CO_TRY(take_training(args.train));
    lora::Adapter adapter = CO_TRY(co_await training->session->backend().adapter());
    if (!args.name.empty()) adapter.name = args.name;
    LoadedAdapter out{.description = describe(adapter)};
    out.adapter = keep_adapter(training->model, std::move(adapter));
    co_return reply(out);
}

// See GradcheckReport.
Task<Result<Reply>> Api::train_gradcheck(Call& call) {
    TrainGradcheckArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    train::Fixture fixture = CO_TRY(train::read_fixture(call.blob));
    const auto longest = uint32_t(fixture.sequence.tokens.size());
    const auto all = int64_t(fixture.losses.size());
    CO_TRY(check_between("steps", args.steps.value_or(all), 0, all));
    fixture.losses.resize(size_t(args.steps.value_or(all)));
    const auto make = [&](const lora::Adapter& adapter) {
        return training_backend(call, *model, adapter, longest, args.backend, args.checkpointing);
    };
    auto report = CO_TRY(co_await train::gradcheck(std::move(fixture), make, breathe_for(call), uint32_t(args.runs)));
    TrainGradcheckResult out{.passed = report.passed(),
                             .loss = report.loss,
                             .worst_gradient = report.worst_gradient,
                             .alone = std::move(report.alone),
                             .guided = std::move(report.guided),
                             .spread = std::move(report.spread),
                             .distance = std::move(report.distance),
                             .worst_distance = report.worst_distance,
                             .determined = int64_t(report.determined),
                             .worst_step = report.worst_step,
                             .loss_tolerance = train::GradcheckReport::kLossTolerance,
                             .gradient_tolerance = train::GradcheckReport::kGradientTolerance,
                             .step_tolerance = train::GradcheckReport::kStepTolerance,
                             .distance_tolerance = train::GradcheckReport::kDistanceTolerance};
    for (auto& gradient : report.gradients) {
        out.gradients.push_back({.label = std::move(gradient.label), .a = gradient.a, .b = gradient.b});
    }
    co_return reply(out);
}

Task<Result<Reply>> Api::train_close(Call& call) {
    TrainArgs args;
    CO_TRY(read_message(call.args, args));
    CO_TRY(take_training(args.train));
    trainings_.erase(args.train);
    co_return Reply{};
}

}  // namespace lapidary::api
