#include "train/gpu_backend.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "gpu/plan_device.h"
#include "kernels/train/adamw.h"
#include "train/float_bytes.h"
#include "train/sequence.h"

namespace lapidary::train {
namespace {

constexpr uint32_t kMaxTokens = 1 << 16;  // tokens of a sequence

}  // namespace

GpuBackend::GpuBackend(gpu::Device& device, std::shared_ptr<infer::GpuModel> model, Layout layout,
                       const lora::Adapter& adapter, GpuPassOptions options)
    : model_(std::move(model)),
      layout_(std::move(layout)),
      options_(options),
      name_(adapter.name),
      base_model_(adapter.base_model),
      alpha_(adapter.alpha),
      resources_(device, model_->choice().variant) {}

Task<Result<std::unique_ptr<GpuBackend>>> GpuBackend::create(std::shared_ptr<infer::GpuModel> model,
                                                             const lora::Adapter& adapter, GpuPassOptions options,
                                                             Cancel cancel) {
    gpu::Device& device = model->device();
    auto backend = CO_TRY(co_await prepare(device, std::move(model), adapter, options, cancel));
    backend->write(&LoraBuffers::values, backend->layout_.flatten(adapter));
    CO_TRY(co_await backend->resources_.device().sync(cancel));
    co_return backend;
}

Task<Result<std::unique_ptr<GpuBackend>>> GpuBackend::prepare(gpu::Device& device,
                                                              std::shared_ptr<infer::GpuModel> model,
                                                              const lora::Adapter& adapter, GpuPassOptions options,
                                                              Cancel cancel) {
    Layout layout = CO_TRY(Layout::of(adapter, model->table()));
    std::unique_ptr<GpuBackend> backend(new GpuBackend(device, std::move(model), std::move(layout), adapter, options));
    CO_TRY(backend->allocate());
    CO_TRY(co_await backend->record_step(std::move(cancel)));
    co_return backend;
}

Task<Result<uint64_t>> GpuBackend::memory(std::shared_ptr<infer::GpuModel> model, const lora::Adapter& adapter,
                                          GpuPassOptions options, Dropout dropout, Breathe breathe) {
    gpu::PlanDevice device(model->device().info());
    const auto backend = CO_TRY(co_await prepare(device, std::move(model), adapter, options, {}));
    // Programs are recorded when they first run.
    const uint32_t tokens = std::max(options.tokens, 2u);
    Sequence sequence{.tokens = std::vector<int32_t>(tokens), .weights = std::vector<float>(tokens, 1), .starts = {0}};
    sequence.weights.back() = 0;
    CO_TRY(co_await backend->accumulate(sequence, 1, dropout, std::move(breathe)));
    co_return backend->bytes();
}

Status GpuBackend::allocate() {
    lora_.resize(model_->config().layers.size());
    const std::vector<Slot>& slots = layout_.slots();
    for (uint32_t layer = 0; layer < lora_.size(); ++layer) {
        const auto first = std::ranges::find(slots, layer, &Slot::layer);
        if (first == slots.end()) continue;
        const auto next =
            std::ranges::find_if(first, slots.end(), [&](const Slot& slot) { return slot.layer != layer; });
        LoraBuffers& buffers = lora_[layer];
        buffers.begin = first->a;
        buffers.count = (next == slots.end() ? layout_.size() : next->a) - buffers.begin;
        const uint64_t bytes = buffers.count * sizeof(float);
        if (bytes > resources_.device().info().max_binding_bytes || buffers.count > UINT32_MAX) {
            return fail(Code::out_of_memory,
                        "the updates of layer {} are larger than this GPU binds at once: ask for a "
                        "smaller rank or fewer targets",
                        layer);
        }
        buffers.values.at = TRY(resources_.buffer(bytes, "updates"));
        buffers.gradients.at = TRY(resources_.buffer(bytes, "gradients"));
        buffers.first_moments.at = TRY(resources_.buffer(bytes, "first moments"));
        buffers.second_moments.at = TRY(resources_.buffer(bytes, "second moments"));
    }
    settings_.at = TRY(resources_.buffer(32, "AdamW"));
    constexpr uint32_t kGroups = kernels::SquareSums::kGroups;
    sums_ = gpu::rows_in(TRY(resources_.buffer(lora_.size() * kGroups * sizeof(float), "squares")),
                         uint32_t(lora_.size()), kGroups);
    found_.at = TRY(resources_.buffer(16, "norm"));
    return {};
}

Task<Status> GpuBackend::record_step(Cancel cancel) {
    kernels::Program program(resources_, {}, std::move(cancel));
    for (size_t i = 0; i < lora_.size(); ++i) {
        if (lora_[i].count == 0) continue;
        program.add(kernels::SquareSums{.x = lora_[i].gradients, .sums = sums_.row_range(uint32_t(i), 1)});
    }
    program.add(kernels::ClipFactor{.settings = settings_, .sums = sums_, .found = found_});
    kernels::Program forget(resources_, {}, {});
    for (const LoraBuffers& n : lora_) {
        if (n.count == 0) continue;
        for (kernels::Program* each : {&program, &forget}) {
            each->add(kernels::AdamW{.settings = settings_,
                                     .found = found_,
                                     .gradients = n.gradients,
                                     .values = n.values,
                                     .first_moments = n.first_moments,
                                     .second_moments = n.second_moments,
                                     .count = n.count});
        }
    }
    step_program_ = CO_TRY(co_await program.compile());
    forget_program_ = CO_TRY(co_await forget.compile());
    co_return Status{};
}

Status GpuBackend::make_room(const Sequence& sequence) {
    TRY(check(sequence, model_->config().vocabulary));
    const auto count = uint32_t(std::min<size_t>(sequence.tokens.size(), kMaxTokens + 1));
    if (count > kMaxTokens) return fail(Code::limit, "a sequence of {} tokens is too long", sequence.tokens.size());
    if (pass_ && pass_->tokens() >= count) return {};
    // The old one goes first: there may not be room for both.
    pass_.reset();
    options_.tokens = std::max(options_.tokens, count);
    pass_ = TRY(GpuPass::create(resources_.device(), model_, layout_, lora_, options_));
    return {};
}

Task<Result<double>> GpuBackend::accumulate(const Sequence& sequence, double divisor, Dropout dropout,
                                            Breathe breathe) {
    if (!(divisor > 0)) co_return fail(Code::invalid_argument, "the weights of a step must add up to more than 0");
    CO_TRY(make_room(sequence));
    co_return co_await pass_->run(sequence, divisor, dropout, breathe);
}

Task<Result<double>> GpuBackend::evaluate(const Sequence& sequence, Breathe breathe) {
    CO_TRY(make_room(sequence));
    co_return co_await pass_->run(sequence, 0, {}, breathe);
}

Task<Result<double>> GpuBackend::step(const AdamW& adamw) {
    const auto steps = double(steps_ + 1);
    const std::array<float, 8> settings = {adamw.learning_rate,
                                           adamw.beta1,
                                           adamw.beta2,
                                           adamw.epsilon,
                                           adamw.weight_decay,
                                           adamw.clip_norm,
                                           float(1 - std::pow(double(adamw.beta1), steps)),
                                           float(1 - std::pow(double(adamw.beta2), steps))};
    gpu::Device& device = resources_.device();
    device.write(settings_.at.buffer, 0, bytes_of(settings));
    device.run(step_program_);
    const auto bytes = CO_TRY(co_await device.read(found_.at.buffer, 0, found_.at.size, {}));
    std::array<float, 4> found{};
    std::memcpy(found.data(), bytes.data(), sizeof(found));
    if (found[1] >= 0) ++steps_;
    co_return double(found[0]);
}

void GpuBackend::forget_gradients() {
    // Without permission a step does nothing else.
    const std::array<float, 4> refused = {0, -1, 0, 0};
    resources_.device().write(found_.at.buffer, 0, bytes_of(refused));
    resources_.device().run(forget_program_);
}

Task<Result<std::vector<float>>> GpuBackend::read(Kind kind) {
    std::vector<float> out(layout_.size());
    for (const LoraBuffers& n : lora_) {
        if (n.count == 0) continue;
        const uint64_t size = n.count * sizeof(float);
        const auto bytes = CO_TRY(co_await resources_.device().read((n.*kind).at.buffer, 0, size, {}));
        std::memcpy(out.data() + n.begin, bytes.data(), size);
    }
    co_return out;
}

void GpuBackend::write(Kind kind, std::span<const float> numbers) {
    for (const LoraBuffers& n : lora_) {
        if (n.count == 0) continue;
        resources_.device().write((n.*kind).at.buffer, 0, bytes_of(numbers.subspan(n.begin, n.count)));
    }
}

Task<Result<lora::Adapter>> GpuBackend::adapter() {
    const std::vector<float> values = CO_TRY(co_await read(&LoraBuffers::values));
    co_return lora::Adapter{
        .name = name_, .base_model = base_model_, .alpha = alpha_, .updates = layout_.unflatten(values)};
}

Task<Result<std::vector<lora::Update>>> GpuBackend::gradients() {
    const std::vector<float> values = CO_TRY(co_await read(&LoraBuffers::gradients));
    co_return layout_.unflatten(values);
}

Task<Result<Moments>> GpuBackend::moments() {
    Moments out{.step = steps_};
    out.first = CO_TRY(co_await read(&LoraBuffers::first_moments));
    out.second = CO_TRY(co_await read(&LoraBuffers::second_moments));
    co_return out;
}

Task<Status> GpuBackend::restore(const lora::Adapter& adapter, const Moments& moments) {
    if (!layout_.same(adapter) || moments.first.size() != layout_.size() || moments.second.size() != layout_.size()) {
        co_return fail(Code::invalid_argument, "what is to be restored belongs to an adapter of another shape");
    }
    write(&LoraBuffers::values, layout_.flatten(adapter));
    write(&LoraBuffers::first_moments, moments.first);
    write(&LoraBuffers::second_moments, moments.second);
    steps_ = moments.step;
    forget_gradients();
    co_return co_await resources_.device().sync({});
}

}  // namespace lapidary::train
