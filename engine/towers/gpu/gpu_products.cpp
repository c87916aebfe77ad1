#include "towers/gpu/gpu_products.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "kernels/program.h"
#include "quant/decode.h"
#include "towers/bounds.h"

namespace lapidary::towers {
namespace {

constexpr uint64_t kReadBytes = 8 << 20;    // what one read asks for
constexpr uint64_t kBlockBytes = 32 << 20;  // of the activations that are multiplied together

uint64_t padded(uint64_t n) {
    return (n + 31) / 32 * 32;
}

// Rows of `cols` numbers of a size each, with zeros behind them.
std::vector<uint8_t> with_longer_rows(std::span<const uint8_t> rows, size_t row_bytes, size_t longer_bytes) {
    std::vector<uint8_t> out(rows.size() / row_bytes * longer_bytes);
    for (size_t row = 0; row < rows.size() / row_bytes; ++row) {
        std::memcpy(out.data() + row * longer_bytes, rows.data() + row * row_bytes, row_bytes);
    }
    return out;
}

}  // namespace

std::vector<const Weight*> small_weights(const std::vector<Weight>& all, const std::vector<Linear>& linears) {
    std::set<std::string_view> large;
    for (const Linear& linear : linears) large.insert(linear.weight.name);
    std::vector<const Weight*> out;
    for (const Weight& weight : all) {
        if (!large.contains(weight.name)) out.push_back(&weight);
    }
    return out;
}

Result<gpu::Tensor> step_of(kernels::Resources& resources, uint32_t rows) {
    const std::array<uint32_t, 4> step = {0, rows, 0, 0};
    const gpu::Binding at =
        TRY(resources.words({reinterpret_cast<const uint8_t*>(step.data()), step.size() * sizeof(uint32_t)}));
    return gpu::Tensor{.at = at, .rows = 1, .cols = 4};
}

Task<Result<GpuLinear>> GpuProducts::upload(const Linear& linear, const reference::Weights& bounds, Cancel cancel) {
    const Weight& weight = linear.weight;
    const Bounds clips = CO_TRY(bounds_of(linear, bounds));
    GpuLinear out{.weights = {},
                  .cols = weight.cols,
                  .bounds = {clips.input.low, clips.input.high, clips.output.low, clips.output.high}};
    const uint64_t cols = padded(weight.cols);
    CO_TRY(kernels::check_columns(weight.type, cols));
    const kernels::Format format = kernels::format_of(weight.type);
    out.weights = {.format = format, .cols = cols, .rows = weight.rows * weight.slices, .pieces = {}};
    const uint64_t bytes = kernels::gpu_bytes(format, out.padded_rows(), cols);
    const gpu::Info& info = device_.info();
    if (bytes > std::min(info.max_binding_bytes, info.max_buffer_bytes)) {
        co_return fail(Code::unsupported,
                       "the matrix '{}' of the projector does not fit into a binding of this GPU: use the CPU backend "
                       "for the projector",
                       weight.name);
    }
    const gpu::Binding at = CO_TRY(resources_.buffer(bytes, weight.name));
    out.weights.pieces.push_back({.binding = at, .rows = out.padded_rows()});
    const auto* tensor = file_.find(weight.name);
    if (tensor == nullptr) co_return fail(Code::missing_tensor, "the file has no tensor '{}'", weight.name);
    // Types that come in blocks have whole blocks of 32 in a row.
    const size_t longer = size_t(weight.row_bytes() / weight.cols * cols);
    const uint64_t step = std::max<uint64_t>(1, kReadBytes / weight.row_bytes());
    for (uint64_t row = 0; row < out.weights.rows; row += step) {
        const uint64_t count = std::min(step, out.weights.rows - row);
        const Bytes read =
            CO_TRY(co_await file_.read(*tensor, row * weight.row_bytes(), count * weight.row_bytes(), cancel));
        const auto packed =
            cols == weight.cols
                ? kernels::repack(weight.type, read, count, cols)
                : kernels::repack(weight.type, with_longer_rows(read, size_t(weight.row_bytes()), longer), count, cols);
        device_.write(at.buffer, at.offset + kernels::gpu_bytes(format, row, cols), packed);
    }
    co_return out;
}

Task<Result<std::shared_ptr<GpuProducts>>> GpuProducts::load(gpu::Device& device, kernels::Variant variant,
                                                             const gguf::File& file, const std::vector<Linear>& linears,
                                                             const reference::Weights& bounds,
                                                             reference::Progress progress, Cancel cancel) {
    std::shared_ptr<GpuProducts> out(new GpuProducts(device, variant, file));
    uint64_t done = 0;
    for (const Linear& linear : linears) {
        if (!out->linears_.contains(linear.weight.name)) {
            out->linears_.emplace(linear.weight.name, CO_TRY(co_await out->upload(linear, bounds, cancel)));
        }
        if (progress) progress(++done, linears.size());
    }
    CO_TRY(co_await device.sync(cancel));  // memory that is not there may be missed only now
    co_return out;
}

Task<Result<std::vector<float>>> GpuProducts::apply(const Linear& linear, std::span<const float> x,
                                                    Breathe breathe) const {
    const GpuLinear& w = of(linear);
    const uint64_t cols = w.weights.cols;
    const uint64_t out = w.weights.rows;
    const size_t count = x.size() / size_t(w.cols);
    const auto block = size_t(std::max<uint64_t>(1, kBlockBytes / (std::max(cols, out) * sizeof(float))));
    std::vector<float> y(count * size_t(out));
    for (size_t first = 0; first < count; first += block) {
        const auto rows = uint32_t(std::min(block, count - first));
        const auto given = x.subspan(first * size_t(w.cols), rows * size_t(w.cols));
        kernels::Resources own(device_, resources_.variant(), 0, &resources_);
        const gpu::Tensor in =
            gpu::rows_in(CO_TRY(own.buffer(rows * cols * sizeof(float), "a tower's x")), rows, uint32_t(cols));
        const gpu::Tensor result =
            gpu::rows_in(CO_TRY(own.buffer(rows * out * sizeof(float), "a tower's y")), rows, uint32_t(out));
        if (cols == w.cols) {
            device_.write(in.at.buffer, 0, bytes_of(given));
        } else {
            device_.write(
                in.at.buffer, 0,
                with_longer_rows(bytes_of(given), size_t(w.cols) * sizeof(float), size_t(cols) * sizeof(float)));
        }
        kernels::Program program(own, CO_TRY(step_of(own, rows)), {});
        program.add(
            kernels::ClippedGemm{.w = w.weights, .x = in, .y = result, .out = out, .rows = rows, .bounds = w.bounds});
        device_.run(CO_TRY(co_await program.compile()));
        const auto bytes = CO_TRY(co_await device_.read(result.at.buffer, 0, rows * out * sizeof(float), {}));
        std::memcpy(y.data() + first * size_t(out), bytes.data(), bytes.size());
        if (breathe) CO_TRY(co_await breathe());
    }
    co_return y;
}

Task<Result<std::vector<float>>> GpuProducts::rows(const Weight& table, uint64_t first, uint64_t count) const {
    const auto* tensor = file_.find(table.name);
    if (tensor == nullptr) co_return fail(Code::missing_tensor, "the file has no tensor '{}'", table.name);
    const Bytes read = CO_TRY(co_await file_.read(*tensor, first * table.row_bytes(), count * table.row_bytes(), {}));
    std::vector<float> out(size_t(count * table.cols));
    for (size_t row = 0; row < count; ++row) {
        quant::decode(table.type, read.data() + row * table.row_bytes(),
                      std::span(out).subspan(row * size_t(table.cols), size_t(table.cols)));
    }
    co_return out;
}

}  // namespace lapidary::towers
