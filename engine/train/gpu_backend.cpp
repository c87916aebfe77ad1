#include "train/gpu_backend.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "train/float_bytes.h"
#include "train/sequence.h"

namespace lapidary::train {
namespace {

constexpr uint32_t kSquareGroups = 64;  // as squares.wgsl has them
constexpr uint32_t kMostGroups = 4096;  // of adamw
constexpr uint32_t kLongest = 1 << 16;  // tokens of a sequence

}  // namespace

GpuBackend::GpuBackend(std::shared_ptr<infer::GpuModel> model, Layout layout, const lora::Adapter& adapter,
                       GpuPassOptions options)
    : model_(std::move(model)),
      layout_(std::move(layout)),
      options_(options),
      name_(adapter.name),
      base_model_(adapter.base_model),
      alpha_(adapter.alpha),
      resources_(model_->device(), model_->choice().variant) {}

Task<Result<std::unique_ptr<GpuBackend>>> GpuBackend::create(std::shared_ptr<infer::GpuModel> model,
                                                             const lora::Adapter& adapter, GpuPassOptions options,
                                                             Cancel cancel) {
    Layout layout = CO_TRY(Layout::of(adapter, model->table()));
    std::unique_ptr<GpuBackend> backend(new GpuBackend(std::move(model), std::move(layout), adapter, options));
    CO_TRY(backend->allocate());
    CO_TRY(co_await backend->record_step(cancel));
    backend->write(&GpuNumbers::values, backend->layout_.flatten(adapter));
    CO_TRY(co_await backend->resources_.device().sync(cancel));
    co_return backend;
}

Status GpuBackend::allocate() {
    numbers_.resize(model_->config().layers.size());
    const std::vector<Slot>& slots = layout_.slots();
    for (uint32_t layer = 0; layer < numbers_.size(); ++layer) {
        const auto first = std::ranges::find(slots, layer, &Slot::layer);
        if (first == slots.end()) continue;
        const auto next =
            std::ranges::find_if(first, slots.end(), [&](const Slot& slot) { return slot.layer != layer; });
        GpuNumbers& numbers = numbers_[layer];
        numbers.begin = first->a;
        numbers.count = (next == slots.end() ? layout_.size() : next->a) - numbers.begin;
        const uint64_t bytes = numbers.count * sizeof(float);
        if (bytes > resources_.device().info().max_binding_bytes || numbers.count > UINT32_MAX) {
            return fail(Code::out_of_memory,
                        "the updates of layer {} are larger than this GPU binds at once: ask for a "
                        "smaller rank or fewer targets",
                        layer);
        }
        numbers.values = TRY(resources_.buffer(bytes, "updates"));
        numbers.gradients = TRY(resources_.buffer(bytes, "gradients"));
        numbers.first = TRY(resources_.buffer(bytes, "first moments"));
        numbers.second = TRY(resources_.buffer(bytes, "second moments"));
    }
    settings_ = TRY(resources_.buffer(32, "AdamW"));
    sums_ = TRY(resources_.buffer(numbers_.size() * kSquareGroups * sizeof(float), "squares"));
    found_ = TRY(resources_.buffer(16, "norm"));
    return {};
}

Task<Status> GpuBackend::record_step(Cancel cancel) {
    infer::GpuRecorder program(resources_, std::move(cancel));
    constexpr uint64_t kSumBytes = kSquareGroups * sizeof(float);
    for (size_t i = 0; i < numbers_.size(); ++i) {
        if (numbers_[i].count == 0) continue;
        program.add(kernels::kSquares, {}, {numbers_[i].gradients, {sums_.buffer, i * kSumBytes, kSumBytes}},
                    {kSquareGroups, 1, 1});
    }
    program.add(kernels::kClip, {}, {settings_, sums_, found_}, {});
    infer::GpuRecorder forget(resources_, {});
    for (const GpuNumbers& n : numbers_) {
        if (n.count == 0) continue;
        const auto groups = uint32_t(std::min<size_t>((n.count + 255) / 256, kMostGroups));
        for (infer::GpuRecorder* recorder : {&program, &forget}) {
            recorder->add(kernels::kAdamW, {}, {settings_, found_, n.gradients, n.values, n.first, n.second},
                          {groups, 1, 1});
        }
    }
    step_program_ = CO_TRY(co_await program.finish());
    forget_program_ = CO_TRY(co_await forget.finish());
    co_return Status{};
}

Status GpuBackend::make_room(const Sequence& sequence) {
    TRY(check(sequence, model_->config().vocabulary));
    const auto count = uint32_t(std::min<size_t>(sequence.tokens.size(), kLongest + 1));
    if (count > kLongest) return fail(Code::limit, "a sequence of {} tokens is too long", sequence.tokens.size());
    if (pass_ && pass_->tokens() >= count) return {};
    // The old one goes first: there may not be room for both.
    pass_.reset();
    options_.tokens = std::max(options_.tokens, count);
    pass_ = TRY(GpuPass::create(model_, layout_, numbers_, options_));
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
    device.write(settings_.buffer, 0, bytes_of(settings));
    device.run(step_program_);
    const auto bytes = CO_TRY(co_await device.read(found_.buffer, 0, found_.size, {}));
    std::array<float, 4> found{};
    std::memcpy(found.data(), bytes.data(), sizeof(found));
    if (found[1] >= 0) ++steps_;
    co_return double(found[0]);
}

void GpuBackend::forget_gradients() {
    // Without permission a step does nothing else.
    const std::array<float, 4> refused = {0, -1, 0, 0};
    resources_.device().write(found_.buffer, 0, bytes_of(refused));
    resources_.device().run(forget_program_);
}

Task<Result<std::vector<float>>> GpuBackend::read(Kind kind) {
    std::vector<float> out(layout_.size());
    for (const GpuNumbers& n : numbers_) {
        if (n.count == 0) continue;
        const uint64_t size = n.count * sizeof(float);
        const auto bytes = CO_TRY(co_await resources_.device().read((n.*kind).buffer, 0, size, {}));
        std::memcpy(out.data() + n.begin, bytes.data(), size);
    }
    co_return out;
}

void GpuBackend::write(Kind kind, std::span<const float> numbers) {
    for (const GpuNumbers& n : numbers_) {
        if (n.count == 0) continue;
        resources_.device().write((n.*kind).buffer, 0, bytes_of(numbers.subspan(n.begin, n.count)));
    }
}

Task<Result<lora::Adapter>> GpuBackend::adapter() {
    const std::vector<float> values = CO_TRY(co_await read(&GpuNumbers::values));
    co_return lora::Adapter{
        .name = name_, .base_model = base_model_, .alpha = alpha_, .updates = layout_.unflatten(values)};
}

Task<Result<std::vector<lora::Update>>> GpuBackend::gradients() {
    const std::vector<float> values = CO_TRY(co_await read(&GpuNumbers::gradients));
    co_return layout_.unflatten(values);
}

Task<Result<Moments>> GpuBackend::moments() {
    Moments out{.step = steps_};
    out.first = CO_TRY(co_await read(&GpuNumbers::first));
    out.second = CO_TRY(co_await read(&GpuNumbers::second));
    co_return out;
}

Task<Status> GpuBackend::restore(const lora::Adapter& adapter, const Moments& moments) {
    if (!layout_.same(adapter) || moments.first.size() != layout_.size() || moments.second.size() != layout_.size()) {
        co_return fail(Code::invalid_argument, "what is to be restored belongs to an adapter of another shape");
    }
    write(&GpuNumbers::values, layout_.flatten(adapter));
    write(&GpuNumbers::first, moments.first);
    write(&GpuNumbers::second, moments.second);
    steps_ = moments.step;
    forget_gradients();
    co_return co_await resources_.device().sync({});
}

}  // namespace lapidary::train
