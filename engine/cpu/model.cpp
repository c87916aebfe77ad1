#include "cpu/model.h"

#include <algorithm>

#include "cpu/packed.h"
#include "cpu/place.h"
#include "kernels/weight_format.h"
#include "quant/decode.h"
#include "reference/ops.h"

namespace lapidary::cpu {

using model::Weight;

namespace {

// A model that takes more keeps its table of per-layer embeddings in its source, where there is one.
constexpr uint64_t kMostWithTable = 1ull << 30;

uint64_t packed_bytes(const Weight& weight) {
    return matrix_bytes(form_of(weight.type), weight.rows * weight.slices, weight.cols);
}

// The table's rows as the kernels look them up.
Bytes decoded(TensorType type, std::span<const uint8_t> bytes, uint64_t rows, uint64_t cols) {
    std::vector<float> values(size_t(rows * cols));
    quant::decode(type, bytes.data(), values);
    const auto* begin = reinterpret_cast<const uint8_t*>(values.data());
    return {begin, begin + values.size() * sizeof(float)};
}

bool is_vector(const Weight& weight) {
    return weight.rows * weight.slices == 1;
}

bool table_stays_away(const model::WeightTable& table, infer::TablePlace place) {
    if (!table.per_layer_token_embd.present() || place == infer::TablePlace::gpu) return false;
    if (place == infer::TablePlace::source) return true;
    uint64_t all = 0;
    table.for_each([&](const Weight& weight) { all += weight.bytes(); });
    return all > kMostWithTable;
}

}  // namespace

// Carries what a load needs from weight to weight.
struct Model::Loader {
    Model& out;
    const gguf::File& file;
    Progress progress;
    Cancel cancel;
    uint64_t done = 0;
    uint64_t total = 0;

    // What one read asks for: bounds the memory in flight.
    static constexpr uint64_t kChunkBytes = 4 << 20;

    Task<Result<Bytes>> read(const Weight& weight, uint64_t offset, uint64_t size) {
        const auto* tensor = file.find(weight.name);
        if (tensor == nullptr) co_return fail(Code::missing_tensor, "the file has no tensor '{}'", weight.name);
        Bytes bytes = CO_TRY(co_await file.read(*tensor, offset, size, cancel));
        done += size;
        if (progress) progress(done, total);
        co_return bytes;
    }

    Task<Status> fill(const Matrix& w, const Weight& weight) {
        const uint64_t rows = weight.rows * weight.slices;
        const uint64_t step = std::max<uint64_t>(8, kChunkBytes / weight.row_bytes() / 8 * 8);
        for (uint64_t row = 0; row < rows; row += step) {
            const uint64_t count = std::min(step, rows - row);
            const Bytes bytes = CO_TRY(co_await read(weight, row * weight.row_bytes(), count * weight.row_bytes()));
            CO_TRY(fill_matrix(out.heap(), w, weight.type, row, count, bytes));
        }
        co_return Status{};
    }

    Task<Result<Matrix>> matrix(const Weight& weight) {
        if (!weight.present()) co_return Matrix{};
        const Matrix w = CO_TRY(new_matrix(out.blocks_, weight.type, weight.rows * weight.slices, weight.cols));
        CO_TRY(co_await fill(w, weight));
        co_return w;
    }

    // Matrices whose results lie side by side; neighbours of one form that end with a whole group of rows become one.
    Task<Result<Stack>> stack(std::vector<const Weight*> weights) {
        std::erase_if(weights, [](const Weight* weight) { return !weight->present(); });
        Stack parts;
        uint32_t y_at = 0;
        for (size_t i = 0; i < weights.size();) {
            uint64_t rows = 0;
            size_t end = i;
            do {
                rows += weights[end++]->rows;
            } while (end < weights.size() && rows % 8 == 0 && weights[end]->type == weights[i]->type);
            const Matrix all = CO_TRY(new_matrix(out.blocks_, weights[i]->type, rows, weights[i]->cols));
            Matrix one = all;
            for (; i < end; ++i) {
                one.rows = uint32_t(weights[i]->rows);
                CO_TRY(co_await fill(one, *weights[i]));
                one.at += Address(matrix_bytes(one.form, one.rows, one.cols));
            }
            parts.push_back({.w = all, .y_at = y_at});
            y_at += uint32_t(rows);
        }
        co_return parts;
    }

    Task<Result<ExpertMatrices>> experts(const Weight& weight) {
        Matrix w = CO_TRY(co_await matrix(weight));
        w.rows = uint32_t(weight.rows);
        co_return ExpertMatrices{.w = w, .slice = uint32_t(matrix_bytes(w.form, w.rows, w.cols))};
    }

    Task<Status> vector(const Weight& weight) {
        const Bytes bytes = CO_TRY(co_await read(weight, 0, weight.bytes()));
        std::vector<float> values(size_t(weight.elements()));
        quant::decode(weight.type, bytes.data(), values);
        out.vectors_.emplace(weight.name, std::move(values));
        co_return Status{};
    }

    Task<Result<LayerMatrices>> layer(const model::LayerWeights& w) {
        LayerMatrices m;
        m.qkv = CO_TRY(co_await stack({&w.attn_q, &w.attn_k, &w.attn_v}));
        m.o = CO_TRY(co_await stack({&w.attn_output}));
        m.gate_up = CO_TRY(co_await stack({&w.ffn_gate, &w.ffn_up}));
        m.down = CO_TRY(co_await stack({&w.ffn_down}));
        m.inp_gate = CO_TRY(co_await stack({&w.inp_gate}));
        m.proj = CO_TRY(co_await stack({&w.proj}));
        m.router = CO_TRY(co_await stack({&w.router}));
        for (const Weight* weight : {&w.expert_gate_up, &w.expert_gate, &w.expert_up}) {
            if (weight->present()) m.expert_gate_up.push_back(CO_TRY(co_await experts(*weight)));
        }
        if (w.expert_down.present()) m.expert_down = CO_TRY(co_await experts(w.expert_down));
        co_return m;
    }
};

Status Model::can_run(const model::Config& /*config*/, const model::WeightTable& table) {
    for (const model::LayerWeights& w : table.layers) {
        // Experts begin with a group of rows.
        for (const Weight* weight : {&w.expert_gate_up, &w.expert_gate, &w.expert_up, &w.expert_down}) {
            if (weight->rows % 8 != 0 && weight->slices > 1) {
                return fail(Code::unsupported, "'{}' has {} rows for each expert, no multiple of 8", weight->name,
                            weight->rows);
            }
        }
    }
    Status columns;
    table.for_each([&](const Weight& weight) {
        if (is_packed(form_of(weight.type)) && weight.cols % 16 != 0 && columns) {
            columns = fail(Code::unsupported, "'{}' has {} columns, no multiple of 16", weight.name, weight.cols);
        }
    });
    return columns;
}

uint64_t Model::planned_bytes(const model::WeightTable& table, infer::TablePlace place) {
    const bool away = table_stays_away(table, place);
    uint64_t bytes = 0;
    table.for_each([&](const Weight& weight) {
        if (&weight != &table.per_layer_token_embd || !away) bytes += packed_bytes(weight);
    });
    return bytes;
}

Task<Result<std::shared_ptr<Model>>> Model::load(Heap& heap, const gguf::File& file,
                                                 std::shared_ptr<const model::Config> config,
                                                 std::shared_ptr<const model::WeightTable> table, ModelOptions options,
                                                 Progress progress, Cancel cancel) {
    CO_TRY(can_run(*config, *table));
    std::shared_ptr<Model> out(new Model(heap, std::move(config), std::move(table)));
    out->accuracy_ = options.accuracy;
    out->digits_ = heap.machine().digits(options.accuracy);
    out->bytes_ = planned_bytes(*out->table_, options.place);
    CO_TRY(heap.check_room(out->bytes_, "the model"));
    Loader loader{*out, file, std::move(progress), std::move(cancel)};
    CO_TRY(co_await out->fill(loader, options.place));
    co_return out;
}

Task<Status> Model::fill(Loader& loader, infer::TablePlace place) {
    const bool away = table_stays_away(*table_, place);
    const Weight& rows = table_->per_layer_token_embd;
    table_->for_each([&](const Weight& weight) {
        if (&weight != &rows || !away) loader.total += weight.bytes();
    });
    std::vector<const Weight*> vectors;
    table_->for_each([&](const Weight& weight) {
        if (is_vector(weight)) vectors.push_back(&weight);
    });
    for (const Weight* weight : vectors) CO_TRY(co_await loader.vector(*weight));
    CO_TRY(place_frequencies());
    token_embd = CO_TRY(co_await loader.matrix(table_->token_embd));
    head = CO_TRY(co_await loader.stack({&table_->output}));
    if (head.empty()) head = {{.w = token_embd}};
    per_layer_model_proj = CO_TRY(co_await loader.stack({&table_->per_layer_model_proj}));
    dense_first = CO_TRY(co_await loader.stack({&table_->dense.first}));
    dense_second = CO_TRY(co_await loader.stack({&table_->dense.second}));
    for (const model::LayerWeights& layer : table_->layers) layers.push_back(CO_TRY(co_await loader.layer(layer)));
    if (!away) {
        per_layer_token_embd = CO_TRY(co_await loader.matrix(rows));
        co_return Status{};
    }
    const auto* tensor = loader.file.find(rows.name);
    if (tensor == nullptr) co_return fail(Code::missing_tensor, "the file has no tensor '{}'", rows.name);
    per_layer_rows = std::make_unique<infer::TableRows>(loader.file.source_of(*tensor), tensor->info.range.offset,
                                                        rows.type, rows.rows, rows.cols, &decoded);
    co_return Status{};
}

infer::Norm Model::vector(const Weight& weight) const {
    if (!weight.present()) return {};
    const auto it = vectors_.find(weight.name);
    return it == vectors_.end() ? infer::Norm{} : it->second;
}

Result<Address> Model::place(const std::vector<float>& values) {
    if (values.empty()) return 0;
    const auto it = placed_.find(values);
    if (it != placed_.end()) return it->second;
    const Address at = TRY(blocks_.take_for(std::span(values)));
    placed_.emplace(values, at);
    return at;
}

Status Model::place_frequencies() {
    for (const model::LayerConfig& layer : config_->layers) {
        Address& at = layer.sliding ? rope_sliding_ : rope_full_;
        if (at != 0) continue;
        std::vector<float> divisors;
        if (!layer.sliding) divisors = vector(table_->rope_freqs);
        if (!layer.sliding && divisors.empty()) {
            divisors = reference::default_rope_divisors(layer.head_dim, config_->rotary_fraction_full,
                                                        config_->rope_factor_full);
        }
        const float base = layer.sliding ? config_->rope_base_sliding : config_->rope_base_full;
        const std::vector<double> rates = reference::rope_frequencies(layer.head_dim, base, divisors);
        at = TRY(blocks_.take_for(std::span(rates)));
    }
    return {};
}

const Stack& Model::matrices(infer::LinearOf which) const {
    using enum infer::Linear;
    const LayerMatrices& layer = layers[which.layer];
    switch (which.which) {
        case qkv: return layer.qkv;
        case o: return layer.o;
        case gate_up: return layer.gate_up;
        case down: return layer.down;
        case inp_gate: return layer.inp_gate;
        case proj: return layer.proj;
        default: return head;
    }
}

}  // namespace lapidary::cpu
