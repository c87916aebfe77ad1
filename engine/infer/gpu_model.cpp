#include "infer/gpu_model.h"

#include <algorithm>

#include "base/edition.h"
#include "base/log.h"
#include "model/memory.h"
#include "quant/decode.h"

namespace lapidary::infer {

using model::Weight;

// Carries what a load needs from weight to weight.
struct GpuModel::Loader {
    GpuModel& out;
    const gguf::File& file;
    Progress progress;
    Cancel cancel;
    uint64_t done = 0;
    uint64_t total = 0;
    bool matrices = true;  // fills them

    // What one read asks for: bounds the memory in flight.
    static constexpr uint64_t kChunkBytes = 8 << 20;

    Task<Result<Bytes>> read(const Weight& weight, uint64_t offset, uint64_t size) {
        const auto* tensor = file.find(weight.name);
        if (tensor == nullptr) co_return fail(Code::missing_tensor, "the file has no tensor '{}'", weight.name);
        Bytes bytes = CO_TRY(co_await file.read(*tensor, offset, size, cancel));
        done += size;
        if (progress) progress(done, total);
        co_return bytes;
    }

    // The weights' rows one after the other, without a place yet. All have the same format and columns.
    static Result<kernels::Weights> shape_of(const std::vector<const Weight*>& stack) {
        kernels::Weights out_matrix;
        out_matrix.format = kernels::format_of(stack.front()->type);
        out_matrix.cols = stack.front()->cols;
        for (const Weight* weight : stack) {
            TRY(kernels::check_columns(weight->type, weight->cols));
            out_matrix.rows += weight->rows * weight->slices;
        }
        return out_matrix;
    }

    Task<Result<kernels::Weights>> matrix(std::vector<const Weight*> stack) {
        if (stack.empty() || !stack.front()->present()) co_return kernels::Weights{};
        kernels::Weights out_matrix = CO_TRY(shape_of(stack));
        CO_TRY(allocate(out_matrix, stack.front()->name));
        CO_TRY(co_await upload(stack, out_matrix));
        co_return out_matrix;
    }

    Status allocate(kernels::Weights& matrix, const std::string& label) const {
        const gpu::Info& info = out.device_.info();
        const uint64_t most = std::min(info.max_binding_bytes, info.max_buffer_bytes);
        uint64_t rows_each = std::min(matrix.rows, most / kernels::gpu_bytes(matrix.format, 1, matrix.cols));
        // Parts begin where kernels that take several rows at once can begin.
        if (rows_each < matrix.rows && rows_each > 64) rows_each -= rows_each % 64;
        if (rows_each == 0) return fail(Code::unsupported, "a row of '{}' does not fit into a GPU binding", label);
        for (uint64_t row = 0; row < matrix.rows; row += rows_each) {
            const uint64_t rows = std::min(rows_each, matrix.rows - row);
            const uint64_t bytes = kernels::gpu_bytes(matrix.format, rows, matrix.cols);
            const gpu::Id id = TRY(out.device_.buffer(bytes, gpu::Usage::storage, label));
            out.buffers_.push_back(id);
            out.bytes_ += bytes;
            matrix.pieces.push_back({.binding = {id, 0, bytes}, .first_row = row, .rows = rows});
        }
        return {};
    }

    // Two matrices in one buffer, where a product can read both.
    Status allocate_together(kernels::Weights& first, kernels::Weights& second, const std::string& label) const {
        const gpu::Info& info = out.device_.info();
        const uint64_t row = kernels::gpu_bytes(second.format, 1, second.cols);
        const uint64_t at = row * kernels::second_row_at(first.format, first.rows, second.format, first.cols);
        const uint64_t bytes = at + row * second.rows;
        if (bytes > std::min(info.max_binding_bytes, info.max_buffer_bytes)) {
            TRY(allocate(first, label));
            return allocate(second, label);
        }
        const gpu::Id id = TRY(out.device_.buffer(bytes, gpu::Usage::storage, label));
        out.buffers_.push_back(id);
        out.bytes_ += bytes;
        const uint64_t first_bytes = kernels::gpu_bytes(first.format, first.rows, first.cols);
        first.pieces.push_back({.binding = {id, 0, first_bytes}, .rows = first.rows});
        second.pieces.push_back({.binding = {id, at, row * second.rows}, .rows = second.rows});
        return {};
    }

    Task<Status> upload(const std::vector<const Weight*>& stack, const kernels::Weights& matrix) {
        uint64_t first = 0;
        for (const Weight* weight : stack) {
            CO_TRY(co_await upload(*weight, first, matrix));
            first += weight->rows * weight->slices;
        }
        co_return Status{};
    }

    Task<Status> upload(const Weight& weight, uint64_t at_row, const kernels::Weights& matrix) {
        if (!matrices) co_return Status{};
        const uint64_t rows = weight.rows * weight.slices;
        const uint64_t step = std::max<uint64_t>(1, kChunkBytes / weight.row_bytes());
        for (uint64_t row = 0; row < rows;) {
            const auto piece = std::ranges::find_if(matrix.pieces, [&](const kernels::Weights::Piece& p) {
                return at_row + row >= p.first_row && at_row + row < p.first_row + p.rows;
            });
            const uint64_t room = piece->first_row + piece->rows - (at_row + row);
            const uint64_t count = std::min({step, rows - row, room});
            const Bytes bytes = CO_TRY(co_await read(weight, row * weight.row_bytes(), count * weight.row_bytes()));
            const auto packed = kernels::repack(weight.type, bytes, count, weight.cols);
            const uint64_t offset = kernels::gpu_bytes(matrix.format, at_row + row - piece->first_row, matrix.cols);
            out.device_.write(piece->binding.buffer, piece->binding.offset + offset, packed);
            row += count;
        }
        co_return Status{};
    }

    // Last of all, when what is left of the GPU's memory is left for it.
    Task<Status> per_layer_table(const Weight& weight, TablePlace place) {
        if (!weight.present()) co_return Status{};
        kernels::Weights& matrix = out.per_layer_token_embd = CO_TRY(shape_of({&weight}));
        if (place != TablePlace::source) {
            CO_TRY(co_await out.device_.sync(cancel));  // what went wrong until now is not about the table
            const size_t buffers = out.buffers_.size();
            const uint64_t bytes = out.bytes_;
            Status room = allocate(matrix, weight.name);
            if (room) room = co_await out.device_.sync(cancel);  // memory that is not there may be missed only now
            if (room) co_return co_await upload(weight, 0, matrix);
            CO_TRY(cancel.check());
            if (place == TablePlace::gpu) co_return room;
            log(LogLevel::info, "{}: its rows will be read from the file, token by token", room.error().message);
            for (; out.buffers_.size() > buffers; out.buffers_.pop_back()) out.device_.release(out.buffers_.back());
            out.bytes_ = bytes;
            matrix.pieces.clear();
        }
        const auto* tensor = file.find(weight.name);
        if (tensor == nullptr) co_return fail(Code::missing_tensor, "the file has no tensor '{}'", weight.name);
        out.per_layer_rows = std::make_unique<TableRows>(file.source_of(*tensor), tensor->info.range.offset,
                                                         weight.type, weight.rows, weight.cols, &kernels::repack);
        if (progress) progress(total, total);
        co_return Status{};
    }

    Task<Status> vector(const Weight& weight) {
        if (!weight.present()) co_return Status{};
        const Bytes bytes = CO_TRY(co_await read(weight, 0, weight.bytes()));
        std::vector<float> values(size_t(weight.elements()));
        quant::decode(weight.type, bytes.data(), values);
        out.vectors_.emplace_back(weight.name, std::move(values));
        co_return Status{};
    }

    Task<Result<std::vector<kernels::Weights>>> projections(const model::LayerWeights& w) {
        std::vector<std::vector<const Weight*>> stacks;
        for (const Weight* weight : {&w.attn_q, &w.attn_k, &w.attn_v}) {
            if (!weight->present()) continue;
            const auto format = [](const Weight* of) { return kernels::format_of(of->type); };
            if (stacks.empty() || format(stacks.back().back()) != format(weight)) stacks.emplace_back();
            stacks.back().push_back(weight);
        }
        std::vector<kernels::Weights> groups;
        for (const auto& stack : stacks) groups.push_back(CO_TRY(shape_of(stack)));
        if (groups.size() == 2 && groups[0].cols == groups[1].cols) {
            CO_TRY(allocate_together(groups[0], groups[1], w.attn_q.name));
        } else {
            for (kernels::Weights& group : groups) CO_TRY(allocate(group, w.attn_q.name));
        }
        for (size_t i = 0; i < groups.size(); ++i) CO_TRY(co_await upload(stacks[i], groups[i]));
        co_return groups;
    }

    Task<Status> experts(const model::LayerWeights& w, GpuLayer& out_layer) {
        if (w.expert_gate.present()) {
            co_return fail(Code::unsupported, "'{}': the GPU backend wants gate and up of the experts in one tensor",
                           w.expert_gate.name);
        }
        out_layer.router = CO_TRY(co_await matrix({&w.router}));
        out_layer.expert_gate_up = CO_TRY(co_await matrix({&w.expert_gate_up}));
        out_layer.expert_down = CO_TRY(co_await matrix({&w.expert_down}));
        co_return Status{};
    }

    Task<Result<GpuLayer>> layer(const model::LayerWeights& w) {
        GpuLayer out_layer;
        if (kernels::format_of(w.ffn_gate.type) != kernels::format_of(w.ffn_up.type)) {
            co_return fail(Code::unsupported, "'{}' and '{}' are stored in different types", w.ffn_gate.name,
                           w.ffn_up.name);
        }
        out_layer.qkv = CO_TRY(co_await projections(w));
        out_layer.attn_output = CO_TRY(co_await matrix({&w.attn_output}));
        out_layer.gate_up = CO_TRY(co_await matrix({&w.ffn_gate, &w.ffn_up}));
        out_layer.down = CO_TRY(co_await matrix({&w.ffn_down}));
        out_layer.inp_gate = CO_TRY(co_await matrix({&w.inp_gate}));
        out_layer.proj = CO_TRY(co_await matrix({&w.proj}));
        if (has_everything()) CO_TRY(co_await experts(w, out_layer));
        for (const Weight* v :
             {&w.attn_norm, &w.attn_q_norm, &w.attn_k_norm, &w.post_attention_norm, &w.ffn_norm, &w.post_ffw_norm,
              &w.layer_output_scale, &w.encoder_output_scale, &w.post_norm, &w.router_scale, &w.expert_down_scale,
              &w.pre_ffw_norm_2, &w.post_ffw_norm_1, &w.post_ffw_norm_2}) {
            CO_TRY(co_await vector(*v));
        }
        co_return out_layer;
    }
};

GpuModel::~GpuModel() {
    for (const gpu::Id id : buffers_) device_.release(id);
}

std::vector<float> GpuModel::vector(const Weight& weight) const {
    if (!weight.present()) return {};
    const auto it = std::ranges::find(vectors_, weight.name, &std::pair<std::string, std::vector<float>>::first);
    return it == vectors_.end() ? std::vector<float>{} : it->second;
}

std::vector<float> GpuModel::head_norms(uint32_t layer) const {
    const model::LayerWeights& names = table_->layers[layer];
    std::vector<float> norms = vector(names.attn_q_norm);
    for (float& value : norms) value *= config_->attention_scale;
    const std::vector<float> keys = vector(names.attn_k_norm);
    norms.insert(norms.end(), keys.begin(), keys.end());
    return norms;
}

Task<Status> GpuModel::fill_self_conditioning(Loader& loader) {
    const model::SelfConditioning& w = table_->self_conditioning;
    if (!w.gate.present()) co_return Status{};
    if (kernels::format_of(w.gate.type) != kernels::format_of(w.up.type)) {
        co_return fail(Code::unsupported, "'{}' and '{}' are stored in different types", w.gate.name, w.up.name);
    }
    self_conditioning.gate_up = CO_TRY(co_await loader.matrix({&w.gate, &w.up}));
    self_conditioning.down = CO_TRY(co_await loader.matrix({&w.down}));
    co_return co_await loader.vector(w.norm);
}

Task<Status> GpuModel::fill(Loader& loader, TablePlace place) {
    token_embd = CO_TRY(co_await loader.matrix({&table_->token_embd}));
    output = CO_TRY(co_await loader.matrix({&table_->output}));
    per_layer_model_proj = CO_TRY(co_await loader.matrix({&table_->per_layer_model_proj}));
    for (const Weight* v : {&table_->output_norm, &table_->rope_freqs, &table_->per_layer_proj_norm}) {
        CO_TRY(co_await loader.vector(*v));
    }
    if (has_everything()) {
        dense_first = CO_TRY(co_await loader.matrix({&table_->dense.first}));
        dense_second = CO_TRY(co_await loader.matrix({&table_->dense.second}));
        CO_TRY(co_await fill_self_conditioning(loader));
    }
    for (const model::LayerWeights& layer : table_->layers) layers.push_back(CO_TRY(co_await loader.layer(layer)));
    CO_TRY(co_await loader.per_layer_table(table_->per_layer_token_embd, place));
    co_return co_await device_.sync(loader.cancel);
}

Task<Result<std::shared_ptr<GpuModel>>> GpuModel::load(gpu::Device& device, const gguf::File& file,
                                                       std::shared_ptr<const model::Config> config,
                                                       std::shared_ptr<const model::WeightTable> table, Autotune choice,
                                                       TablePlace place, Progress progress, Cancel cancel) {
    std::shared_ptr<GpuModel> out(new GpuModel(device, std::move(config), table, std::move(choice)));
    Loader loader{*out, file, std::move(progress), std::move(cancel), 0, model::weight_bytes(*table)};
    CO_TRY(co_await out->fill(loader, place));
    co_return out;
}

Task<Result<std::shared_ptr<GpuModel>>> GpuModel::plan(gpu::Device& device, const gguf::File& file,
                                                       std::shared_ptr<const model::Config> config,
                                                       std::shared_ptr<const model::WeightTable> table, Autotune choice,
                                                       TablePlace place) {
    std::shared_ptr<GpuModel> out(new GpuModel(device, std::move(config), std::move(table), std::move(choice)));
    Loader loader{.out = *out, .file = file, .progress = {}, .cancel = {}, .matrices = false};
    CO_TRY(co_await out->fill(loader, place));
    co_return out;
}

}  // namespace lapidary::infer
