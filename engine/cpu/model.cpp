#include "cpu/model.h"

#include <algorithm>

#include "base/edition.h"
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

// Places for all matrices first; then they are filled one after the other.
struct Model::Loader {
    Model& out;
    const gguf::File& file;
    Progress progress;
    Cancel cancel;
    uint64_t done = 0;
    uint64_t total = 0;
    struct Wanted {
        const Weight* weight;
        Matrix w;  // form none: a vector
    };
    std::vector<Wanted> wanted = {};

    // What one read asks for: bounds the memory in flight.
    static constexpr uint64_t kChunkBytes = 4 << 20;

    void want(const Weight& weight, const Matrix& w) {
        total += weight.bytes();
        wanted.push_back({.weight = &weight, .w = w});
    }

    Result<Matrix> matrix(const Weight& weight) {
        if (!weight.present()) return Matrix{};
        const Matrix w = TRY(new_matrix(out.blocks_, weight.type, weight.rows * weight.slices, weight.cols));
        want(weight, w);
        return w;
    }

    // Matrices whose results lie side by side; neighbours of one form that end with a whole group of rows become one.
    Result<Stack> stack(std::initializer_list<const Weight*> all) {
        std::vector<const Weight*> weights(all);
        std::erase_if(weights, [](const Weight* weight) { return !weight->present(); });
        Stack parts;
        uint32_t y_at = 0;
        for (size_t i = 0; i < weights.size();) {
            uint64_t rows = 0;
            size_t end = i;
            do {
                rows += weights[end++]->rows;
            } while (end < weights.size() && rows % 8 == 0 && weights[end]->type == weights[i]->type);
            const Matrix together = TRY(new_matrix(out.blocks_, weights[i]->type, rows, weights[i]->cols));
            Matrix one = together;
            for (; i < end; ++i) {
                one.rows = uint32_t(weights[i]->rows);
                want(*weights[i], one);
                one.at += Address(matrix_bytes(one.form, one.rows, one.cols));
            }
            parts.push_back({.w = together, .y_at = y_at});
            y_at += uint32_t(rows);
        }
        return parts;
    }

    Result<ExpertMatrices> experts(const Weight& weight) {
        Matrix w = TRY(matrix(weight));
        w.rows = uint32_t(weight.rows);
        return ExpertMatrices{.w = w, .slice = uint32_t(matrix_bytes(w.form, w.rows, w.cols))};
    }

    Result<LayerMatrices> layer(const model::LayerWeights& w) {
        LayerMatrices m;
        m.qkv = TRY(stack({&w.attn_q, &w.attn_k, &w.attn_v}));
        m.o = TRY(stack({&w.attn_output}));
        m.gate_up = TRY(stack({&w.ffn_gate, &w.ffn_up}));
        m.down = TRY(stack({&w.ffn_down}));
        m.inp_gate = TRY(stack({&w.inp_gate}));
        m.proj = TRY(stack({&w.proj}));
        if (!has_everything() || !w.is_moe()) return m;
        m.router = TRY(stack({&w.router}));
        for (const Weight* weight : {&w.expert_gate_up, &w.expert_gate, &w.expert_up}) {
            if (weight->present()) m.expert_gate_up.push_back(TRY(experts(*weight)));
        }
        m.expert_down = TRY(experts(w.expert_down));
        return m;
    }

    Task<Status> fill() {
        for (const auto& [weight, w] : wanted) {
            const auto* tensor = file.find(weight->name);
            if (tensor == nullptr) co_return fail(Code::missing_tensor, "the file has no tensor '{}'", weight->name);
            const uint64_t rows = weight->rows * weight->slices;
            const uint64_t step = std::max<uint64_t>(8, kChunkBytes / weight->row_bytes() / 8 * 8);
            for (uint64_t row = 0; row < rows; row += step) {
                const uint64_t count = std::min(step, rows - row);
                const uint64_t size = count * weight->row_bytes();
                const Bytes bytes = CO_TRY(co_await file.read(*tensor, row * weight->row_bytes(), size, cancel));
                if (w.form == Form::none) {
                    std::vector<float> values(size_t(weight->elements()));
                    quant::decode(weight->type, bytes.data(), values);
                    out.vectors_.emplace_back(weight->name, std::move(values));
                } else {
                    CO_TRY(fill_matrix(out.heap(), w, weight->type, row, count, bytes));
                }
                done += size;
                if (progress) progress(done, total);
            }
        }
        co_return Status{};
    }
};

Status Model::can_run(const model::Config& config, const model::WeightTable& table) {
    if (config.diffusion) return fail(Code::unsupported, "models that write by canvases run on the reference");
    for (const model::LayerWeights& w : table.layers) {
        if (!has_everything() && w.is_moe()) return fail(Code::needs_everything, "experts are for the larger engine");
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
    CO_TRY(out->allocate(loader, table_stays_away(*out->table_, options.place)));
    CO_TRY(co_await loader.fill());
    CO_TRY(out->place_frequencies());
    co_return out;
}

// Everything a program needs to know about matrices, before any of them is read.
Status Model::allocate(Loader& loader, bool away) {
    table_->for_each([&](const Weight& weight) {
        if (is_vector(weight)) loader.want(weight, {});
    });
    token_embd = TRY(loader.matrix(table_->token_embd));
    head = TRY(loader.stack({&table_->output}));
    if (head.empty()) head = {{.w = token_embd}};
    per_layer_model_proj = TRY(loader.stack({&table_->per_layer_model_proj}));
    if (has_everything()) {
        dense_first = TRY(loader.stack({&table_->dense.first}));
        dense_second = TRY(loader.stack({&table_->dense.second}));
    }
    for (const model::LayerWeights& layer : table_->layers) layers.push_back(TRY(loader.layer(layer)));
    const Weight& rows = table_->per_layer_token_embd;
    if (!away) {
        per_layer_token_embd = TRY(loader.matrix(rows));
        return {};
    }
    const auto* tensor = loader.file.find(rows.name);
    if (tensor == nullptr) return fail(Code::missing_tensor, "the file has no tensor '{}'", rows.name);
    per_layer_rows = std::make_unique<infer::TableRows>(loader.file.source_of(*tensor), tensor->info.range.offset,
                                                        rows.type, rows.rows, rows.cols, &decoded);
    return {};
}

infer::Norm Model::vector(const Weight& weight) const {
    if (!weight.present()) return {};
    const auto it = std::ranges::find(vectors_, weight.name, &std::pair<std::string, std::vector<float>>::first);
    return it == vectors_.end() ? infer::Norm{} : it->second;
}

Result<Address> Model::place(const std::vector<float>& values) {
    if (values.empty()) return 0;
    const auto it = std::ranges::find(placed_, values, &std::pair<std::vector<float>, Address>::first);
    if (it != placed_.end()) return it->second;
    const Address at = TRY(blocks_.take_for(std::span(values)));
    placed_.emplace_back(values, at);
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
