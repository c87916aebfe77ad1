// train.*: an adapter in the making.
#include <algorithm>
#include <cmath>

#include "api/api.h"
#include "api/chat_prompt.h"
#include "api/describe.h"
#include "infer/answer.h"
#include "train/cpu_backend.h"
#include "train/data.h"
#include "train/gpu_backend.h"
#include "train/gradcheck.h"
#include "train/session.h"

namespace lapidary::api {
namespace {

constexpr size_t kMaxSamples = 16;
constexpr size_t kMaxTargets = 32;
constexpr int64_t kUsualRuns = 4;  // of gradcheck, beside the one that is compared
constexpr int64_t kMaxRuns = 64;
constexpr uint32_t kSampleTokens = 96;
constexpr uint32_t kSampleContext = 1024;
// How long a step may go on after the call was cancelled.
constexpr double kGraceMs = 4000;

struct Wanted {
    train::Settings settings;
    train::CpuOptions cpu;
    std::vector<std::string> samples;
};

// {rank, alpha, targets, layers, batch, accumulate, seq, cut, validation, epochs, steps, lr, schedule, warmup, dropout,
// weight_decay, clip_norm, beta1, beta2, seed, every, checkpointing, samples}
Result<Wanted> read_wanted(const Args& args) {
    Wanted out;
    train::Settings& s = out.settings;
    constexpr int64_t kMany = UINT32_MAX;
    s.rank = uint32_t(TRY(args.integer_or("rank", 1, lora::kMaxRank, s.rank)));
    s.alpha = TRY(args.number_or("alpha", 2 * float(s.rank)));
    if (args.has("targets")) {
        s.targets.clear();
        for (const std::string& name : TRY(args.strings("targets", kMaxTargets))) {
            // "q" is short for "q_proj".
            auto target = lora::target_from(name);
            if (!target) target = lora::target_from(name + "_proj");
            if (!target) return fail(Code::invalid_argument, "there is no target '{}'", printable(name));
            s.targets.push_back(*target);
        }
    }
    if (const Json& layers = args.member("layers"); !layers.is_null()) {
        if (!layers.is_array()) return fail(Code::invalid_argument, "'layers' must be a list of numbers");
        for (const Json& layer : layers) {
            if (!layer.is_number_unsigned() || layer.get<uint64_t>() > UINT32_MAX) {
                return fail(Code::invalid_argument, "'layers' must be a list of numbers");
            }
            s.layers.push_back(layer.get<uint32_t>());
        }
    }
    s.batch = uint32_t(TRY(args.integer_or("batch", 1, 1 << 20, s.batch)));
    s.accumulate = uint32_t(TRY(args.integer_or("accumulate", 1, 1 << 20, s.accumulate)));
    s.sequence = uint32_t(TRY(args.integer_or("seq", 2, train::kMaxExampleTokens, s.sequence)));
    s.cut = TRY(args.boolean_or("cut", s.cut));
    s.validation = TRY(args.number_or("validation", s.validation));
    s.epochs = uint32_t(TRY(args.integer_or("epochs", 1, 1 << 20, s.epochs)));
    s.steps = uint64_t(TRY(args.integer_or("steps", 0, kMany, 0)));
    s.adamw.learning_rate = TRY(args.number_or("lr", s.adamw.learning_rate));
    s.adamw.weight_decay = TRY(args.number_or("weight_decay", s.adamw.weight_decay));
    s.adamw.clip_norm = TRY(args.number_or("clip_norm", s.adamw.clip_norm));
    s.adamw.beta1 = TRY(args.number_or("beta1", s.adamw.beta1));
    s.adamw.beta2 = TRY(args.number_or("beta2", s.adamw.beta2));
    if (args.has("schedule")) s.schedule = TRY(train::schedule_from(TRY(args.string("schedule"))));
    s.warmup = TRY(args.number_or("warmup", s.warmup));
    s.dropout = TRY(args.number_or("dropout", s.dropout));
    s.seed = uint64_t(TRY(args.integer_or("seed", 0, int64_t{1} << 53, 0)));
    s.every = uint64_t(TRY(args.integer_or("every", 0, kMany, 0)));
    out.cpu.checkpointing = TRY(args.boolean_or("checkpointing", out.cpu.checkpointing));
    out.samples = TRY(args.strings("samples", kMaxSamples));
    TRY(train::check(s));
    return out;
}

// What the CPU has beside the weights. In WebAssembly that is what is left of its address space.
uint64_t cpu_room(const OpenModel& model) {
    constexpr uint64_t kAll = sizeof(size_t) == 4 ? 3'900'000'000ull : 64ull << 30;
    const uint64_t weights = model.cpu_weights != nullptr ? model.cpu_weights->bytes() : 0;
    return kAll - std::min(kAll, weights);
}

// What sequences of some length need on the CPU, and the longest that fits: with and without computing layers again.
Result<Json> memory_plan(OpenModel& model, const lora::Adapter& adapter, uint32_t longest, train::CpuOptions options) {
    const auto config = TRY(model.config());
    const auto table = TRY(model.weights());
    const uint64_t room = cpu_room(model);
    const auto needed = [&](uint32_t tokens, bool checkpointing) {
        const auto memory = train::cpu_memory(*config, *table, adapter, tokens, {.checkpointing = checkpointing});
        return memory.adapter + memory.sequence;
    };
    const auto fits = [&](bool checkpointing) {
        uint32_t low = 0;
        for (uint32_t step = train::kMaxExampleTokens; step > 0; step /= 2) {
            if (low + step <= config->context_length && needed(low + step, checkpointing) <= room) low += step;
        }
        return low;
    };
    const uint64_t memory = needed(longest, options.checkpointing);
    if (memory > room) {
        return fail(Code::out_of_memory,
                    "sequences of {} tokens need {} beside the weights, and there are {}: {} tokens would fit{}",
                    longest, format_bytes(memory), format_bytes(room), fits(options.checkpointing),
                    options.checkpointing ? "" : ", more with checkpointing");
    }
    return Json{{"memory", memory},
                {"memory_with_checkpointing", needed(longest, true)},
                {"memory_without_checkpointing", needed(longest, false)},
                {"room", room},
                {"longest_with_checkpointing", fits(true)},
                {"longest_without_checkpointing", fits(false)}};
}

uint64_t parameters_of(const lora::Adapter& adapter) {
    uint64_t out = 0;
    for (const lora::Update& update : adapter.updates) out += update.a.size() + update.b.size();
    return out;
}

}  // namespace

Result<std::shared_ptr<OpenTraining>> Api::take_training(const Call& call) const {
    const auto it = trainings_.find(TRY(call.args.id("train")));
    if (it == trainings_.end()) return fail(Code::not_found, "there is no such training: it was closed or never made");
    const auto training = it->second;
    if (training->busy) return fail(Code::invalid_argument, "the training is busy with another call");
    training->busy = true;
    return std::shared_ptr<OpenTraining>(training.get(), [training](OpenTraining* taken) { taken->busy = false; });
}

Task<Result<std::unique_ptr<train::Backend>>> Api::training_backend(const Call& call, OpenModel& model,
                                                                    const lora::Adapter& adapter, uint32_t longest) {
    const std::string fallback = model.gpu_weights != nullptr ? "gpu" : "cpu";
    const std::string backend = call.args.has("backend") ? CO_TRY(call.args.string("backend")) : fallback;
    const train::CpuOptions options{.checkpointing = CO_TRY(call.args.boolean_or("checkpointing", true))};
    if (backend == "gpu" && model.gpu_weights != nullptr) {
        co_return CO_TRY(co_await train::GpuBackend::create(
            model.gpu_weights, adapter, {.tokens = longest, .checkpointing = options.checkpointing}, call.cancel));
    }
    if (backend != "cpu" || model.cpu_weights == nullptr) {
        co_return fail(Code::invalid_argument, "the model is not loaded for training on the backend '{}'",
                       printable(backend));
    }
    co_return CO_TRY(train::CpuBackend::create(CO_TRY(model.config()), CO_TRY(model.weights()), model.cpu_weights,
                                               adapter, options));
}

// {model, backend, data, see read_wanted} → {train, plan: {steps, parameters, memory, …}}
Task<Result<Reply>> Api::train_create(Call& call) {
    const auto model = CO_TRY(model_of(call));
    const auto data = CO_TRY(data_of(call));
    Wanted wanted = CO_TRY(read_wanted(call.args));
    lora::Adapter adapter = CO_TRY(train::initial_adapter(*CO_TRY(model->weights()), wanted.settings));
    adapter.base_model = CO_TRY(model->config())->name;
    if (call.args.has("name")) adapter.name = CO_TRY(call.args.string("name"));
    auto examples = std::shared_ptr<const train::Examples>(data->set, &data->set->examples);
    const uint32_t longest = CO_TRY(train::Batches::create(examples, wanted.settings)).longest();

    auto training = std::make_shared<OpenTraining>();
    training->model = model;
    training->data = data;
    training->samples = std::move(wanted.samples);
    training->backend = call.args.has("backend") ? CO_TRY(call.args.string("backend"))
                                                 : (model->gpu_weights != nullptr ? "gpu" : "cpu");
    Json plan = Json::object();
    if (training->backend == "cpu") plan = CO_TRY(memory_plan(*model, adapter, longest, wanted.cpu));
    if (training->backend == "gpu") {
        const auto config = CO_TRY(model->config());
        const auto table = CO_TRY(model->weights());
        const auto memory = [&](bool checkpointing) {
            const auto needed =
                train::gpu_memory(*config, *table, adapter, {.tokens = longest, .checkpointing = checkpointing});
            return needed.adapter + needed.sequence;
        };
        plan["memory"] = memory(wanted.cpu.checkpointing);
        plan["memory_with_checkpointing"] = memory(true);
        plan["memory_without_checkpointing"] = memory(false);
    }
    auto backend = CO_TRY(co_await training_backend(call, *model, adapter, longest));
    training->session = CO_TRY(train::Session::create(std::move(wanted.settings), std::move(examples),
                                                      std::move(backend), [this] { return host_.now(); }));
    const train::Batches& batches = training->session->batches();
    plan["steps"] = batches.steps();
    plan["steps_of_epoch"] = batches.steps_of_epoch();
    plan["parameters"] = parameters_of(adapter);
    plan["examples"] = batches.training_examples();
    plan["validation_examples"] = batches.validation_examples();
    plan["cut_examples"] = batches.cut_examples();
    plan["longest"] = longest;
    const uint32_t id = ++last_id_;
    trainings_.emplace(id, std::move(training));
    co_return Reply{.json = {{"train", id}, {"plan", std::move(plan)}}};
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

// {train, data?, at_most?: steps} → {step, finished}. Emits {type: "step", step, steps, epoch, loss, lr, grad_norm, tokens_per_second},
// {type: "validation", step, loss}, {type: "sample", step, prompt, text}. Cancelled, it ends after the step it is at and
// can be run again.
Task<Result<Reply>> Api::train_run(Call& call) {
    const auto training = CO_TRY(take_training(call));
    if (call.args.has("data") && CO_TRY(data_of(call)) != training->data) {
        co_return fail(Code::invalid_argument, "the training was made for another data set");
    }
    const Breathe breathe = breathe_to_the_end(call);
    train::Listener listener;
    listener.on_step = [&](const train::StepReport& report) {
        emit(call, {{"type", "step"},
                    {"step", report.step},
                    {"steps", report.steps},
                    {"epoch", report.epoch},
                    {"loss", report.loss},
                    {"lr", report.learning_rate},
                    {"grad_norm", report.gradient_norm},
                    {"tokens", report.tokens},
                    {"tokens_per_second", double(report.tokens) / std::max(report.milliseconds, 0.001) * 1000}});
    };
    listener.on_validation = [&](uint64_t step, double loss) {
        emit(call, {{"type", "validation"}, {"step", step}, {"loss", loss}});
    };
    if (!training->samples.empty()) {
        listener.sample = [&](uint64_t step) { return train_sample(call, *training, step, breathe); };
    }
    train::Session& session = *training->session;
    const auto most = uint64_t(CO_TRY(call.args.integer_or("at_most", 1, UINT32_MAX, UINT32_MAX)));
    const uint64_t start = session.step();
    const auto enough = [&] { return session.step() - start >= most; };
    const auto ended = co_await session.run(listener, breathe, [&] { return call.cancel.requested() || enough(); });
    // That it was to end here is no error.
    if (!ended && (ended.error().code != Code::cancelled || !enough())) co_return std::unexpected(ended.error());
    co_return Reply{.json = {{"step", session.step()}, {"finished", session.finished()}}};
}

Task<Status> Api::train_sample(const Call& call, OpenTraining& training, uint64_t step, Breathe breathe) {
    const auto config = CO_TRY(training.model->config());
    const auto tokenizer = CO_TRY(training.model->tokenizer());
    Call own{.id = call.id, .args = Args(Json{{"backend", training.backend}}), .blob = {}, .cancel = {}};
    const auto open =
        CO_TRY(co_await new_session(own, *training.model, std::min(kSampleContext, config->context_length)));
    auto adapter = std::make_shared<const lora::Adapter>(CO_TRY(co_await training.session->backend().adapter()));
    infer::make_gpu_adapters = &infer::GpuAdapters::create;
    CO_TRY(co_await open->session->use({{.adapter = std::move(adapter)}}));
    const chat::RenderOptions render{.size = config->is_small() ? chat::ModelSize::small : chat::ModelSize::large,
                                     .thinking = false,
                                     .generation = chat::GenerationPrompt::always};
    // A run that is stopped among them goes on with the next.
    for (; training.next_sample < training.samples.size(); ++training.next_sample) {
        const std::string& text = training.samples[training.next_sample];
        const auto conversation =
            CO_TRY(chat::conversation_from_json(Json::array({{{"role", "user"}, {"content", text}}}), Json()));
        ChatPrompt prompt = CO_TRY(chat_prompt(*tokenizer, conversation, render));
        infer::ChatAnswer answer(tokenizer, {.start = prompt.end, .thinking = false, .tools = {}}, {}, {});
        infer::GenerateListener listener;
        listener.on_token = [&](int32_t token) {
            answer.feed(token);
            return !answer.stopped();
        };
        listener.is_end = [&](int32_t token) { return tokenizer->is_end_of_generation(token); };
        infer::GenerateOptions options{.max_tokens = kSampleTokens};
        options.sampling.temperature = 0;
        CO_TRY(co_await open->session->generate(std::move(prompt.tokens), options, listener, breathe));
        answer.finish();
        emit(call, {{"type", "sample"}, {"step", step}, {"prompt", text}, {"text", answer.content()}});
    }
    training.next_sample = 0;
    co_return Status{};
}

// {train} → {step} + a checkpoint
Task<Result<Reply>> Api::train_save(Call& call) {
    const auto training = CO_TRY(take_training(call));
    Bytes bytes = CO_TRY(co_await training->session->save());
    co_return Reply{.json = {{"step", training->session->step()}}, .blob = std::move(bytes)};
}

// {train} + a checkpoint → {step}
Task<Result<Reply>> Api::train_restore(Call& call) {
    const auto training = CO_TRY(take_training(call));
    CO_TRY(co_await training->session->restore(call.blob));
    co_return Reply{.json = {{"step", training->session->step()}}};
}

// {train, name} → {adapter, description}: as it is now; training goes on with one of its own
Task<Result<Reply>> Api::train_adapter(Call& call) {
    const auto training = CO_TRY(take_training(call));
    lora::Adapter adapter = CO_TRY(co_await training->session->backend().adapter());
    if (call.args.has("name")) adapter.name = CO_TRY(call.args.string("name"));
    Json description = describe(adapter);
    const uint32_t id = keep_adapter(training->model, std::move(adapter));
    co_return Reply{.json = {{"adapter", id}, {"description", std::move(description)}}};
}

// {model, backend, checkpointing, steps, runs} + a fixture → {passed, loss, worst_gradient, gradients: [{label, a, b}],
// alone, guided, spread, distance, worst_distance, determined, worst_step, …_tolerance}: see GradcheckReport
Task<Result<Reply>> Api::train_gradcheck(Call& call) {
    const auto model = CO_TRY(model_of(call));
    train::Fixture fixture = CO_TRY(train::read_fixture(call.blob));
    const auto longest = uint32_t(fixture.sequence.tokens.size());
    const auto all = int64_t(fixture.losses.size());
    fixture.losses.resize(size_t(CO_TRY(call.args.integer_or("steps", 0, all, all))));
    const auto runs = uint32_t(CO_TRY(call.args.integer_or("runs", 2, kMaxRuns, kUsualRuns)));
    const auto make = [&](const lora::Adapter& adapter) { return training_backend(call, *model, adapter, longest); };
    const auto report = CO_TRY(co_await train::gradcheck(std::move(fixture), make, breathe_for(call), runs));
    Json gradients = Json::array();
    for (const auto& gradient : report.gradients) {
        gradients.push_back({{"label", gradient.label}, {"a", gradient.a}, {"b", gradient.b}});
    }
    co_return Reply{.json = {{"passed", report.passed()},
                             {"loss", report.loss},
                             {"worst_gradient", report.worst_gradient},
                             {"gradients", std::move(gradients)},
                             {"alone", report.alone},
                             {"guided", report.guided},
                             {"spread", report.spread},
                             {"distance", report.distance},
                             {"worst_distance", report.worst_distance},
                             {"determined", report.determined},
                             {"worst_step", report.worst_step},
                             {"loss_tolerance", train::GradcheckReport::kLossTolerance},
                             {"gradient_tolerance", train::GradcheckReport::kGradientTolerance},
                             {"step_tolerance", train::GradcheckReport::kStepTolerance},
                             {"distance_tolerance", train::GradcheckReport::kDistanceTolerance}}};
}

// {train}
Task<Result<Reply>> Api::train_close(Call& call) {
    CO_TRY(take_training(call));
    trainings_.erase(CO_TRY(call.args.id("train")));
    co_return Reply{};
}

}  // namespace lapidary::api
