#include "towers/gpu/gpu_vision.h"

#include <algorithm>
#include <cstring>

#include "infer/rope_frequencies.h"
#include "kernels/gemm/batched_gemm.h"
#include "kernels/norm/add_rms_norm.h"
#include "kernels/program.h"
#include "kernels/towers/patch_heads.h"
#include "kernels/towers/softmax_rows.h"
#include "kernels/train/gelu_gate.h"

namespace lapidary::towers {
namespace {

constexpr uint64_t kScoreBytes = 64 << 20;     // of a block of queries, all heads together
constexpr uint32_t kRowsOfFeedForward = 1024;  // that go through it together: its inside is wide
// Multiplications that are submitted together. A GPU that does 100 billion of them a second, a slow one, is busy for less than
// half a second; drivers reset it after two.
constexpr uint64_t kWorkOfASubmit = 20'000'000'000;

}  // namespace

// The dispatches of one layer.
class GpuVision::Recorder {
  public:
    Recorder(const GpuVision& tower, kernels::Program& program, kernels::Resources& own, gpu::Tensor h,
             uint32_t columns)
        : tower_(tower), program_(program), own_(own), h_(h), patches_(h.rows), columns_(columns) {}

    // h += rms(attention(rms(h))); h = (h + rms(ffn(rms(h)))) · factor
    void run(const Layer& layer) {
        count_rows(patches_);
        const gpu::Tensor x = rows("normed");
        add_norm(h_, {}, layer.before, x);
        const gpu::Tensor q = heads(*layer.q, x, layer.q_norm);
        const gpu::Tensor k = heads(*layer.k, x, layer.k_norm);
        const gpu::Tensor v = heads(*layer.v, x, {});
        const gpu::Tensor attended = attention(q, k, v);
        const gpu::Tensor o = rows("attention's result");
        linear(*layer.out, attended, o);
        const gpu::Tensor u = rows("normed again");
        add_norm(h_, o, layer.between, u);
        for (uint32_t first = 0; first < patches_; first += kRowsOfFeedForward) {
            const uint32_t count = std::min(kRowsOfFeedForward, patches_ - first);
            feed_forward(layer, u.row_range(first, count), h_.row_range(first, count));
        }
    }

  private:
    gpu::Tensor rows(std::string_view name) { return program_.scratch(name, patches_, tower_.tower_.config.width); }

    void count_rows(uint32_t rows) {
        if (program_rows_ == rows) return;
        program_rows_ = rows;
        program_.count_rows_by(program_.keep(step_of(own_, rows)));
    }

    // Before so many multiplications are recorded: whether they go into the next submit.
    void work(uint64_t multiplications) {
        if (work_ > 0 && work_ + multiplications > kWorkOfASubmit) {
            program_.host_step("a submit is long enough");
            work_ = 0;
        }
        work_ += multiplications;
    }

    // y has room for rows and columns that the matrix has not, if its kind of rows is padded.
    void linear(const GpuLinear& linear, gpu::Tensor x, gpu::Tensor y, uint64_t y_offset = 0,
                bool with_padding = false) {
        const uint64_t out = with_padding ? linear.padded_rows() : linear.weights.rows;
        work(uint64_t{x.rows} * out * linear.weights.cols);
        program_.add(kernels::ClippedGemm{.w = linear.weights,
                                          .x = x,
                                          .y = y,
                                          .out = out,
                                          .y_offset = y_offset,
                                          .rows = x.rows,
                                          .bounds = linear.bounds});
    }

    // h = (h + rms(x; …)) · factor, y = rms(h; …)
    void add_norm(gpu::Tensor h, gpu::Tensor x, gpu::Tensor weights, gpu::Tensor y) {
        program_.add(kernels::AddRmsNorm{.h = h,
                                         .x = x,
                                         .weights = weights,
                                         .y = y,
                                         .cols = tower_.tower_.config.width,
                                         .rows = h.rows,
                                         .eps = tower_.tower_.config.norm_epsilon});
    }

    // What down reads beyond the inside's width are zeros: gate's and up's rows are zeros there.
    void feed_forward(const Layer& layer, gpu::Tensor in, gpu::Tensor h) {
        const uint32_t count = in.rows;
        const uint64_t inside = layer.down->weights.cols;
        count_rows(count);
        const gpu::Tensor both = program_.scratch("gate and up", count, 2 * inside);
        linear(*layer.gate, in, both, 0, true);
        linear(*layer.up, in, both, inside, true);
        const gpu::Tensor gated = program_.scratch("gated", count, inside);
        program_.add(kernels::GeluGateRows{.g = both, .y = gated, .cols = inside, .rows = count});
        const gpu::Tensor down = program_.scratch("down", count, tower_.tower_.config.width);
        linear(*layer.down, gated, down);
        add_norm(h, down, layer.behind, {});
    }

    gpu::Tensor heads(const GpuLinear& of, gpu::Tensor x, gpu::Tensor norm) {
        const VisionConfig& config = tower_.tower_.config;
        const gpu::Tensor raw = rows("before the heads' norm");
        linear(of, x, raw);
        const gpu::Tensor y = rows("heads");
        program_.add(kernels::PatchHeads{.x = raw,
                                         .y = y,
                                         .norm = norm,
                                         .frequencies = norm ? tower_.rates_ : gpu::Tensor{},
                                         .heads = config.heads,
                                         .head_dim = config.head_dim,
                                         .patches = patches_,
                                         .columns = columns_,
                                         .eps = config.norm_epsilon});
        return y;
    }

    // softmax(q · kᵀ) · v, a block of queries at a time: every patch sees every other one.
    gpu::Tensor attention(gpu::Tensor q, gpu::Tensor k, gpu::Tensor v) {
        const VisionConfig& config = tower_.tower_.config;
        const uint32_t d = config.width;
        const uint64_t most = std::min(kScoreBytes, tower_.device_.info().max_binding_bytes);
        const uint64_t fit = most / (uint64_t{config.heads} * patches_ * sizeof(float));
        const auto block = uint32_t(std::clamp<uint64_t>(fit, 1, patches_));
        const gpu::Tensor y = rows("attended");
        for (uint32_t first = 0; first < patches_; first += block) {
            const uint32_t count = std::min(block, patches_ - first);
            work(uint64_t{2} * count * patches_ * d);
            const gpu::Tensor scores = program_.scratch("scores", config.heads * count, patches_);
            program_.add(kernels::BatchedGemm{.shape = {.m = count,
                                                        .n = patches_,
                                                        .k = config.head_dim,
                                                        .p_at = first * d,
                                                        .p_m = d,
                                                        .p_batch = config.head_dim,
                                                        .q_n = d,
                                                        .q_batch = config.head_dim,
                                                        .c_m = patches_,
                                                        .c_n = 1,
                                                        .c_batch = count * patches_},
                                              .p = q,
                                              .q = k,
                                              .c = scores,
                                              .batches = config.heads});
            program_.add(kernels::SoftmaxRows{.scores = scores, .rows = config.heads * count, .cols = patches_});
            program_.add(kernels::BatchedGemm{.shape = {.m = count,
                                                        .n = config.head_dim,
                                                        .k = patches_,
                                                        .p_m = patches_,
                                                        .p_batch = count * patches_,
                                                        .q_n = 1,
                                                        .q_k = d,
                                                        .q_batch = config.head_dim,
                                                        .c_at = first * d,
                                                        .c_m = d,
                                                        .c_n = 1,
                                                        .c_batch = config.head_dim},
                                              .p = scores,
                                              .q = v,
                                              .c = y,
                                              .batches = config.heads});
        }
        return y;
    }

    const GpuVision& tower_;
    kernels::Program& program_;
    kernels::Resources& own_;
    gpu::Tensor h_;
    uint32_t patches_;
    uint32_t columns_;
    uint32_t program_rows_ = 0;
    uint64_t work_ = 0;
};

bool GpuVision::can(const Vision& tower, Activation activation) {
    const VisionConfig& config = tower.config;
    if (config.kind == VisionKind::gemma4uv) return true;  // it has no layers
    return activation == Activation::gelu && config.width % 32 == 0;
}

Task<Result<std::unique_ptr<GpuVision>>> GpuVision::load(gpu::Device& device, kernels::Variant variant,
                                                         const gguf::File& file, Vision tower,
                                                         reference::Progress progress, Cancel cancel) {
    const std::vector<Linear> linears = linears_of(tower.table);
    std::vector<const Weight*> wanted = small_weights(tower.table.all, linears);
    // Of that one only the rows that a picture needs are read.
    std::erase_if(wanted, [&](const Weight* weight) { return weight->name == tower.table.position_embd.name; });
    const auto small = CO_TRY(co_await reference::Weights::load(file, wanted, nullptr, cancel));
    auto products = CO_TRY(
        co_await GpuProducts::load(device, variant, file, linears, *small, std::move(progress), std::move(cancel)));
    std::unique_ptr<GpuVision> out(new GpuVision(device, std::move(tower), small, std::move(products)));
    CO_TRY(out->prepare(*small));
    co_return out;
}

Status GpuVision::prepare(const reference::Weights& small) {
    if (tower_.table.layers.empty()) return {};
    kernels::Resources& resources = products_->resources();
    const auto floats = [&](const std::vector<float>& values, std::string_view label) -> Result<gpu::Tensor> {
        return gpu::Tensor{.at = TRY(resources.floats(values, label)), .rows = 1, .cols = uint32_t(values.size())};
    };
    rates_ = TRY(floats(infer::rates_of(turning_rates(tower_.config)), "rates of turning"));
    for (const VisionLayer& from : tower_.table.layers) {
        const auto vector = [&](const Weight& weight) { return small.vector(weight); };
        const std::vector<float> factor = from.out_scale.present() ? vector(from.out_scale) : std::vector<float>{1};
        layers_.push_back({
            .q = &products_->of(from.q),
            .k = &products_->of(from.k),
            .v = &products_->of(from.v),
            .out = &products_->of(from.out),
            .gate = &products_->of(from.gate),
            .up = &products_->of(from.up),
            .down = &products_->of(from.down),
            .q_norm = TRY(floats(vector(from.q_norm), "q norm")),
            .k_norm = TRY(floats(vector(from.k_norm), "k norm")),
            .before = TRY(floats(kernels::joined({vector(from.ln1), {1}}), "norms")),
            .between = TRY(floats(kernels::joined({vector(from.attn_post_norm), vector(from.ln2), {1}}), "norms")),
            .behind = TRY(floats(kernels::joined({vector(from.ffn_post_norm), factor}), "norms")),
        });
    }
    return {};
}

Task<Result<std::vector<float>>> GpuVision::run(Shown shown, Listener listener, Cancel cancel) const {
    if (layers_.empty()) co_return co_await around_.run(shown, listener);
    const VisionConfig& config = tower_.config;
    std::vector<float> h = CO_TRY(co_await around_.embedded(shown, listener));
    {
        // What is made for a picture of this size goes when it is done; pipelines stay.
        kernels::Resources own(device_, products_->resources().variant(), 0, &products_->resources());
        const auto patches = uint32_t(h.size() / config.width);
        const gpu::Tensor stream =
            gpu::rows_in(CO_TRY(own.buffer(bytes_of(h).size(), "patches")), patches, config.width);
        device_.write(stream.at.buffer, 0, bytes_of(h));
        CO_TRY(co_await run_layers(stream, shown.width / config.patch, own, listener, cancel));
        const auto bytes = CO_TRY(co_await device_.read(stream.at.buffer, 0, bytes_of(h).size(), cancel));
        std::memcpy(h.data(), bytes.data(), bytes.size());
    }
    co_return co_await around_.finished(shown, std::move(h), listener);
}

Task<Status> GpuVision::run_layers(gpu::Tensor stream, uint32_t columns, kernels::Resources& own,
                                   const Listener& listener, Cancel cancel) const {
    for (size_t i = 0; i < layers_.size(); ++i) {
        kernels::Program program(own, CO_TRY(step_of(own, stream.rows)), cancel);
        Recorder(*this, program, own, stream, columns).run(layers_[i]);
        for (const gpu::Id part : CO_TRY(co_await program.compile_segments())) {
            device_.run(part);
            CO_TRY(co_await device_.sync(cancel));
            if (listener.breathe) CO_TRY(co_await listener.breathe());
        }
        if (listener.progress) listener.progress(i + 1, layers_.size());
    }
    co_return Status{};
}

}  // namespace lapidary::towers
